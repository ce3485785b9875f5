# 147_ctl_secrets.pl -- twtasksctl says of a connection string that it cannot use what is wrong
# with it, and neither it nor twtasks-import shows a part of its password.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Ctl;

die "TWTASKS_IMPORT must name the program twtasks-import\n" unless $ENV{TWTASKS_IMPORT};

foreach my $string (
	'host=/nonexistent password=the canary',
	'password=\'canary',
	'host=/nonexistent password=canary bad=option',
	'host=/nonexistent password=canary',
	'postgres://user:the@canary@127.0.0.1:1/db',
	'postgres://user:the@canary:canary@127.0.0.1:1/db',
	'postgresql://user:%zzcanary@127.0.0.1:1/db',
	'postgresql://user:canary@127.0.0.1:1/db')
{
	my $name = $string =~ s/canary/.../gr;
	my ($out, $err) = run_command([ TwTasks::Ctl::program(), '-w', '-d', $string, 'list' ]);

	like($err, qr/connection/, "$name: it says why it cannot connect");
	unlike("$out$err", qr/canary/, "$name: it shows no password");
	foreach my $side (qw(from to))
	{
		my @databases = map { ("--$_", $_ eq $side ? $string : 'host=/nonexistent') } qw(from to);

		($out, $err) = run_command([ $ENV{TWTASKS_IMPORT}, '--name', 'x', @databases ]);
		like($err, qr/^twtasks-import: /, "$name: twtasks-import --$side says that it cannot");
		unlike("$out$err", qr/canary/, "$name: twtasks-import --$side shows no password");
	}
}
done_testing();
