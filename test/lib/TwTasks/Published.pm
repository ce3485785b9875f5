# Published.pm -- an application that consists of blocks of docs/helpers.md, as a reader would
# write it: in a directory of its own, with the helper installed as the page says.
#
# The page's /srv/shop is that directory, and its /etc/shop/worker.env the file with the
# variables of the application.

package TwTasks::Published;

use strict;
use warnings FATAL => 'all';

use Cwd qw(abs_path);
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

# Under that heading of the page.  A role "shop" owns the database's tables.
sub create
{
	my ($class, $heading) = @_;
	my ($text) = $ENV{TWT_PAGE} =~ /^## \Q$heading\E\n(.*?)(?=^## |\z)/ms or die "no heading \"$heading\"\n";
	my $node = TwTasks::Cluster->create('main', conf => { listen_addresses => "'127.0.0.1'" });
	my $home = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { text => $text, node => $node, home => $home, directory => "$home/srv/shop", env => {} }, $class;

	@ENV{qw(PIP_CACHE_DIR npm_config_cache)} = map { "$ENV{TWT_CACHE}/$_" } 'pip', 'npm';
	PostgreSQL::Test::Utils::system_or_bail('mkdir', '-p', $self->{directory});
	$node->safe_psql('postgres', <<'SQL');
	CREATE ROLE shop LOGIN IN ROLE twtasks_producer;
	CREATE TABLE orders (id bigint PRIMARY KEY, state text DEFAULT 'new');
	GRANT SELECT, INSERT, UPDATE ON orders TO shop;
SQL
	return $self;
}

# Sets variables of the application and of its worker.
sub set
{
	my ($self, %env) = @_;

	$self->{env} = { %{ $self->{env} }, %env };
	return;
}

# host:port
sub address
{
	my ($self) = @_;

	return '127.0.0.1:' . $self->{node}->port;
}

# The code block of that language and number, from 0 on.
sub block
{
	my ($self, $language, $number) = @_;
	my @blocks = $self->{text} =~ /^```\Q$language\E\n(.*?)^```$/msg;

	return $blocks[ $number // 0 ] // die "the page has no such block: $language\n";
}

# The first group of a pattern that the text has.
sub words
{
	my ($self, $pattern) = @_;

	return $self->{text} =~ $pattern ? $1 : die "the page does not say: $pattern\n";
}

# Writes a file of the application.
sub write
{
	my ($self, $name, @text) = @_;
	my $path = "$self->{directory}/$name";

	PostgreSQL::Test::Utils::system_or_bail('mkdir', '-p', $path =~ s{/[^/]*$}{}r);
	unlink $path;
	PostgreSQL::Test::Utils::append_to_file($path, join '', @text);
	return;
}

sub read
{
	my ($self, $name) = @_;

	return PostgreSQL::Test::Utils::slurp_file("$self->{directory}/$name");
}

# Runs a command in the directory of the application, and returns its output.
sub run
{
	my ($self, @command) = @_;
	my $output;

	local %ENV = (%ENV, %{ $self->{env} });
	IPC::Run::run([ 'env', '-C', $self->{directory}, @command ], '<', \undef, '>&', \$output)
	  or die "failed: @command\n$output\n";
	note("@command\n$output");
	return $output;
}

# Copies the directory of a helper into the application.
sub copy_helper
{
	my ($self, $name, $to) = @_;

	$self->run('mkdir', '-p', $to);
	$self->run('cp', '-RT', abs_path("helpers/$name"), $to);
	return;
}

# Installs a helper by the command in its row of the page's table, with options of the program.
sub install
{
	my ($self, $row, $program) = @_;
	my ($command) = $ENV{TWT_PAGE} =~ /^\| \Q$row\E \| .*`\w+ ((?:install|mod) [^`]+)`/m or die "the page does not install $row\n";
	my $helpers = abs_path('helpers');

	$self->run('sh', '-ec', "$program " . $command =~ s{\./helpers}{$helpers}gr);
	return;
}

# A sidecar with the page's configuration.
sub start_sidecar
{
	my ($self) = @_;
	my ($named) = $self->block('yaml') =~ /^ *env: (.*)$/m;
	my @variables = grep { ($named // '') !~ /"$_"/ } sort keys %{ $self->{env} };
	my $file = TwTasks::Web::write_tokens("$self->{home}/worker.env", map { "$_=$self->{env}{$_}" } @variables);
	my $handlers = $self->block('yaml') =~ s{/srv/shop}{$self->{directory}}gr =~ s{/etc/shop/worker\.env}{$file}gr;
	my $sidecar = TwTasks::Sidecar->prepare($self->{node}, 'a', env => $self->{env});

	$sidecar->{config} = sprintf qq(postgres: "%s user=sidecar"\nnode: a\n%s), $self->{node}->connstr('postgres'), $handlers;
	$self->{sidecar} = $sidecar->run;
	return;
}

# The only task is done in one try, and has the priority of the page's example.
sub done_ok
{
	my ($self, $type, $priority) = @_;
	my $tasks = sub { $self->{node}->value("SELECT coalesce(string_agg(concat_ws(' ', type, status, tries, priority), ', '), '') FROM twtasks.tasks") };

	wait_for(sub { $tasks->() !~ /WAITING|SUBMITTED|PROCESSING|^\z/ }, 'end of the task of the page');
	is($tasks->(), "$type DONE 1 $priority", 'the worker of the page has done the task of the page');
	return;
}

# An order in the transaction of which its task was added.
sub order_ok
{
	my ($self, $state) = @_;

	is($self->{node}->value("SELECT string_agg(id || ' ' || state, ', ') FROM orders"), "7 $state", '... and the order is stored');
	return;
}

# A print of the application is in the log.
sub print_ok
{
	my ($self, $text) = @_;

	$self->{sidecar}->wait_for_log(qr/$text/);
	unlike($self->{sidecar}->log, qr/broke the protocol|ignores a line/, 'prints go to the log');
	return;
}

1;
