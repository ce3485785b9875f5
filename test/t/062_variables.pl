# 062_variables.pl -- a command and a worker get the variables that their options
# name, and no others.  A reload reads them again, and no value comes to the log.

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;
use TwTasks::Cluster;
use TwTasks::Sidecar;
use TwTasks::Wait;
use TwTasks::Web;

my $node = TwTasks::Cluster->create('main');
my $file = PostgreSQL::Test::Utils::tempdir() . '/env';
my @names = qw(HOME TWT_PASSED TWT_KEPT TWT_URL TWT_MISSING);
# Both write what they see to a file named after the task, since a message of theirs
# would be in the log.
my $seen = PostgreSQL::Test::Utils::tempdir();
my $worker = <<'EOP';
import json, os, sys
for line in sys.stdin:
    task = json.loads(line)
    if "id" in task:
        with open(f"{sys.argv[1]}/{task['id']}", "w") as out:
            out.write("".join(f"{name}={os.environ.get(name, '-')} " for name in sys.argv[2:]))
        print(json.dumps({"id": task["id"], "version": task["version"], "result": "done"}), flush=True)
EOP
my $command = 'to=$1/$TWTASKS_ID; shift; for name in "$@"; do eval "printf \'%s=%s \' $name \"\${$name:--}\""; done >"$to"';

sub write_file
{
	TwTasks::Web::write_tokens($file, '# for the workers', @_);
	return;
}

my @options = (env => [ 'TWT_PASSED', 'TWT_MISSING' ], env_file => $file);

write_file('TWT_URL=postgres://app:one secret@db/app', 'HOME=/srv');
my $sidecar = TwTasks::Sidecar->start(
	$node, 'a',
	env => { TWT_PASSED => 'passed secret', TWT_KEPT => 'kept secret' },
	handlers => [
		{ types => ['COMMAND'], command => [ '/bin/sh', '-c', $command, 'sh', $seen, @names ], @options },
		{ types => ['WORKER'], worker => [ '/usr/bin/python3', '-c', $worker, $seen, @names ], @options },
		{ types => ['PLAIN'], command => [ '/bin/sh', '-c', $command, 'sh', $seen, 'TWT_PASSED' ] }
	]);

# The variables that a program of that handler saw.
sub seen
{
	my ($type) = @_;
	my $id = $node->add_task($type);

	wait_for(sub { $node->status_of($id) eq 'DONE' }, "end of $type");
	return PostgreSQL::Test::Utils::slurp_file("$seen/$id") =~ s/ $//r;
}

my $all = 'HOME=/srv TWT_PASSED=passed secret TWT_KEPT=- TWT_URL=postgres://app:%s secret@db/app TWT_MISSING=-';

foreach my $type ('COMMAND', 'WORKER')
{
	is(seen($type), sprintf($all, 'one'), "$type: variables named by env and env_file, and no others");
}
is(seen('PLAIN'), 'TWT_PASSED=-', 'a handler without the options gets none');
like($sidecar->log, qr/env\[1\]: the sidecar's environment has no such variable/, 'the log names a variable that is missing');

write_file('TWT_URL=postgres://app:two secret@db/app', 'HOME=/srv');
$sidecar->signal('HUP');
foreach my $type ('COMMAND', 'WORKER')
{
	wait_ok(sub { seen($type) eq sprintf($all, 'two') }, "$type: a reload reads the file again");
}

# A file that others can read is refused, and what runs keeps its variables.
write_file('TWT_URL=postgres://app:three secret@db/app', 'HOME=/srv');
chmod oct 644, $file;
$sidecar->signal('HUP');
$sidecar->wait_for_log(qr/env_file: ".*": the file must be root's or the daemon's own, and nobody else may read it/);
is(seen($_), sprintf($all, 'two'), "$_: a refused file changes nothing") foreach 'COMMAND', 'WORKER';

my ($printed, $errors) = run_command([ TwTasks::Sidecar->program, '--config', $sidecar->{config_path}, '--print-config' ]);
like($errors, qr/nobody else may read it/, '--print-config refuses the file too');
chmod oct 600, $file;
($printed) = run_command([ TwTasks::Sidecar->program, '--config', $sidecar->{config_path}, '--print-config' ]);
like($printed, qr/env_file: "\Q$file\E"/, '--print-config has the name of the file');
unlike($printed, qr/secret/, '--print-config has no value');
unlike($sidecar->log(0), qr/secret/, 'the log has no value');

done_testing();
