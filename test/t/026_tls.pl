# 026_tls.pl -- with sslmode=verify-full no program talks to a server without TLS, or to one
# whose certificate is for another host or of another authority; nothing falls back to plain.

use strict;
use warnings FATAL => 'all';

use IO::Socket::INET;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Socket qw(getaddrinfo getnameinfo NI_NUMERICHOST SOCK_STREAM);
use Test::More;
use TwTasks::Certificates qw(make_authority make_certificate);
use TwTasks::Cluster;
use TwTasks::Ctl;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $directory = PostgreSQL::Test::Utils::tempdir();

make_authority($directory, $_) foreach qw(ours theirs);
make_certificate($directory, 'ours', 'right', '/CN=localhost');
make_certificate($directory, 'ours', 'elsewhere', '/CN=elsewhere.example.com', 'elsewhere.example.com');
make_certificate($directory, 'theirs', 'forged', '/CN=localhost');

my $node = TwTasks::Cluster->create(
	'main',
	conf => {
		listen_addresses => q('127.0.0.1'),
		ssl => 'on',
		ssl_cert_file => "'$directory/right.crt'",
		ssl_key_file => "'$directory/right.key'"
	});
my $web_port = PostgreSQL::Test::Cluster::get_free_port();
my $secret = 'canary-of-a-password';

# The programs look "localhost" up themselves, and must still check its name.  They tell the
# error of the address that they tried last, so where that is another one they get the right one.
my ($error, @found) = getaddrinfo('localhost', '', { socktype => SOCK_STREAM });
my $last = $error ? '' : (getnameinfo($found[-1]{addr}, NI_NUMERICHOST))[1];
my $hostaddr = $last eq '127.0.0.1' ? '' : 'hostaddr=127.0.0.1';

sub connstr_at
{
	my ($port) = @_;

	return "host=localhost $hostaddr port=$port dbname=postgres sslmode=verify-full sslrootcert=$directory/ours.crt password=$secret";
}

sub sidecar_at
{
	my ($port) = @_;

	return TwTasks::Sidecar->prepare(
		$node, 'a',
		postgres => connstr_at($port) . ' user=sidecar',
		handlers => [ { types => ['TASK'], noop => \1 } ]);
}

sub web_at
{
	my ($port) = @_;

	return TwTasks::Web->prepare($node, 'web', postgres => connstr_at($port) . ' user=web', listen => "127.0.0.1:$web_port");
}

# The server at a port, as TwTasks::Ctl wants it.
{
	package At;

	sub connstr { return main::connstr_at($_[0]->{port}) }
}

sub ctl_at
{
	my ($port) = @_;

	return TwTasks::Ctl->new(bless({ port => $port }, 'At'));
}

sub sessions
{
	return $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^twtasks'));
}

# ---- the right server ----

my $sidecar = sidecar_at($node->port)->run;
my $web = web_at($node->port)->run;
my $id = $node->add_task('TASK');

wait_ok(sub { $node->status_of($id) eq 'DONE' }, 'tasks run over TLS');
wait_ok(sub { $node->value(q(SELECT count(*) FROM pg_stat_activity WHERE application_name ~ '^twtasks-web')) }, 'twtasks-web connects over TLS');
is($node->value(q(SELECT count(*) FROM pg_stat_activity JOIN pg_stat_ssl USING (pid) WHERE application_name ~ '^twtasks' AND NOT ssl)),
	0, 'each session is encrypted');
ctl_at($node->port)->ends(0, ['list'], 'twtasksctl connects over TLS');
is($_->stop, 0, "$_->{name} stops in order") foreach $web, $sidecar;
wait_for(sub { sessions() == 0 }, 'the end of their sessions');

# ---- others ----

# All programs say why they refuse the server at a port.
sub refused_ok
{
	my ($name, $port, $why) = @_;
	my @programs = (sidecar_at($port), web_at($port));
	my ($status, $out, $err) = ctl_at($port)->run(['list']);

	is($status, 3, "$name: twtasksctl refuses the server");
	like($err, $why, "$name: twtasksctl says why");
	foreach my $program (@programs)
	{
		$program->launch;
		ok($program->wait_for_log($why), "$name: $program->{name} says why it refuses the server");
		unlike($program->log, qr/\Q$secret/, "$name: $program->{name} does not log the password");
	}
	unlike($err, qr/\Q$secret/, "$name: twtasksctl does not show the password");
	is(sessions(), 0, "$name: no program has a session");
	$_->kill9 foreach @programs;
	return;
}

# Changes the server's settings, and waits until new sessions have them.
sub reconfigure
{
	my ($settings) = @_;
	my $loaded = $node->safe_psql('postgres', 'SELECT pg_conf_load_time()');

	$node->append_conf('postgresql.conf', $settings);
	$node->reload;
	wait_for(sub { $node->safe_psql('postgres', 'SELECT pg_conf_load_time()') ne $loaded }, 'the server to read its settings');
	return;
}

foreach my $case (
	[ 'a certificate for another host', 'elsewhere', qr/does not match host name/ ],
	[ 'a certificate of another authority', 'forged', qr/certificate verify failed/ ])
{
	my ($name, $file, $why) = @$case;

	reconfigure("ssl_cert_file = '$directory/$file.crt'\nssl_key_file = '$directory/$file.key'\n");
	refused_ok($name, $node->port, $why);
}
reconfigure("ssl = off\n");
refused_ok('no TLS', $node->port, qr/does not support SSL/);

# Somebody in the middle, who says that the server has no TLS and listens on.
my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 20) or die "could not listen: $!";
my $heard = "$directory/heard";
my $attacker = fork // die "could not fork: $!";

if (!$attacker)
{
	while (my $client = $listener->accept)
	{
		my $text = '';

		sysread $client, $text, 8;
		syswrite $client, 'N';
		while (sysread $client, my $more, 4096) { $text .= $more }
		append_to_file($heard, $text);
	}
	POSIX::_exit(0);
}
refused_ok('an attacker who strips TLS', $listener->sockport, qr/does not support SSL/);
wait_for(sub { -s $heard }, 'the attacker to have heard something');
is(slurp_file($heard) =~ s/\0\0\0\x08\x04\xd2\x16\x2f//gr, '', 'the attacker hears nothing but the wish for TLS');
kill KILL => $attacker;
waitpid $attacker, 0;
done_testing();
