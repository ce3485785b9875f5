# 161_pages_served.pl -- the files of the page, as twtasks-web serves them: only with a
# management API, under a strict policy, compressed, and asked for again cheaply.

use strict;
use warnings FATAL => 'all';

use Compress::Zlib qw(memGunzip);
use PostgreSQL::Test::Cluster;
use Test::More;
use TwTasks::Api;
use TwTasks::Cluster;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $bare = TwTasks::Web->start($node, 'bare', listen => '127.0.0.1:' . PostgreSQL::Test::Cluster::get_free_port());
my $web = TwTasks::Api->start($node, 'web');

# The answer for a file, asked for with these headers.
sub get
{
	my ($path, %headers) = @_;

	return ($web->ask($headers{method} // 'GET', $path, headers => \%headers))[2];
}

is(($bare->ask('GET', '/'))[0], 404, 'without a way to log in there is no page');

my @policies = ("default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "require-trusted-types-for 'script'");

foreach ([ '/', 'text/html', qr/src="app\.js"/ ], [ '/app.js', 'text/javascript', qr/twtasks/ ], [ '/app.css', 'text/css', qr/--ground/ ], [ '/icon.svg', 'image/svg+xml', qr/<svg/ ])
{
	my ($path, $type, $contents) = @$_;
	my $plain = get($path);
	my $gzip = get($path, 'Accept-Encoding' => 'gzip, br');
	my %is = %{ $plain->{headers} };

	is("$plain->{status} " . ($is{'content-type'} =~ s/;.*//r), "200 $type", "$path: nobody needs a token");
	like($plain->{content}, $contents, '... its contents');
	is((grep { index($is{'content-security-policy'}, $_) < 0 } @policies), 0, '... under a strict policy');
	is("@is{qw(x-content-type-options referrer-policy cache-control)}", 'nosniff no-referrer no-cache', '... with the other headers');
	is(get($path, 'If-None-Match' => $is{etag})->{status}, 304, '... a browser that has it gets no second copy');
	next if $path !~ /^.app/;
	is($gzip->{headers}{'content-encoding'}, 'gzip', '... compressed for those who take it');
	is(memGunzip($gzip->{content}), $plain->{content}, '... with the same contents');
	isnt($gzip->{headers}{etag}, $is{etag}, '... and a tag of its own');
	foreach my $refusal ('gzip;q=0', 'gzip; q=0', 'br, gzip ;Q=0.00')
	{
		is(get($path, 'Accept-Encoding' => $refusal)->{headers}{'content-encoding'}, undef, "... not for those who refuse it: $refusal");
	}
	is(get($path, 'Accept-Encoding' => 'br, gzip; q=0.5')->{headers}{'content-encoding'}, 'gzip', '... but for those who would take another');
}
is(($web->ask('POST', '/', body => {}))[0], 405, 'nobody can post to it');
is(($web->ask('GET', '/../web.yaml'))[0], 404, 'no other file is served');

done_testing();
