# Witnesses.pm -- the verdict on a run, by witnesses that do not know of each other.
#
# The product does not grade itself.  Each witness writes lines, in the order of what
# it saw:
#
#	decoded		what the server committed, by logical decoding (TwTasks::Decoding)
#					begin XID
#					add ID VERSION STATUS TYPE FOLLOW AFTER
#					head ID OBJECT, for a head task of events
#					change ID VERSION STATUS
#					leave ID
#					end ID VERSION STATUS
#					effect ID
#					commit XID
#				after a promotion, the rows where decoding begins anew
#					switch LSN
#					have ID VERSION STATUS TYPE FOLLOW AFTER EFFECTS
#					head ID OBJECT, if it is live
#					switched
#	ledger		what handlers did, by their own word
#					start ID VERSION TYPE TIME
#					end ID VERSION RESULT TIME
#	clients		what producers asked for, and what they were told
#					TX add ID
#					TX drop ID, in a savepoint that TX rolls back
#					TX committed | refused | unknown
#	crashes		when the server crashed or lost its place, no later than it did
#					TIME
#	rows		what the tables have in the end
#					ID VERSION STATUS
#
# A task with FOLLOW > 0 adds one more task when it is DONE, whose AFTER names it.
# AFTER is "-" for tasks of producers.  Each type has a contract:
#
#	once	starts at most once, and may end in ERROR for a person to look at
#	again	may start again in a later version.  A crash of the server may lose a
#			grab that was not flushed, so the same version may start once more after it
#	sql		has its effect in the transaction that ends it, and nothing in the ledger
#	head, head_once		as "again" and "once": head tasks of events, which the product adds
#	step	as "once", but may end FAILED, since its kind goes on: the product adds it
#	sent	has messages in a topic when it is DONE, and nothing in the ledger: the product adds it
#
# Other lines are for judges beside this one (TwTasks::EventWitness, TwTasks::KindWitness,
# TwTasks::TopicWitness), and so is the witness "ends", which has what events and kinds left in the
# end.  "topics" has the messages of topics in their order, each line with a task in its second place.
#
# A promoted server may lack what nobody was told of.
#
# All of it takes time and memory in proportion to the lines.  Millions of tasks are to fit into memory,
# so the words of a witness on one task are a text, which is taken apart when it is needed:
#
#	tasks		TYPE FOLLOW AFTER:[ switch] VERSION STATUS[ switch] VERSION STATUS...
#	ledger		 start VERSION TYPE TIME end VERSION RESULT...
#	wanted		TX add | drop

package TwTasks::Witnesses;

use strict;
use warnings FATAL => 'all';

use Test::More;

# Status after a status.  DONE, FAILED and CANCELLED are final.
my %next = (
	WAITING => qr/^(?:SUBMITTED|WAITING|HELD|ERROR|FAILED|CANCELLED)$/,
	SUBMITTED => qr/^(?:PROCESSING|SUBMITTED|HELD|ERROR|FAILED|CANCELLED)$/,
	PROCESSING => qr/^(?:WAITING|SUBMITTED|ERROR|DONE|FAILED|CANCELLED)$/,
	ERROR => qr/^(?:WAITING|ERROR|HELD|DONE|FAILED)$/,
	HELD => qr/^(?:WAITING|ERROR|HELD|DONE|CANCELLED)$/);

# The contracts of tasks that the product adds, by the one that they are like.
my %like = (head => 'again', head_once => 'once', step => 'once', sent => 'sent');

# "types" has the contract of each type.
sub new
{
	my ($class, %types) = @_;

	return bless {
		types => \%types,
		tasks => {},
		ledger => {},
		wanted => {},
		clients => {},
		crashes => [],
		rows => {},
		gone => {},
		shown => {},
		faults => [],
		count => { map { $_ => 0 } qw(acknowledged refused recovered vanished starts followers effects unsure) },
		beside => []
	}, $class;
}

# A judge that takes the same lines, and has its say when the tasks are judged.
sub add_judge
{
	my ($self, $judge, @counts) = @_;

	$self->{count}{$_} = 0 foreach @counts;
	push @{ $self->{beside} }, $judge;
	delete $self->{takers};
	return;
}

# ---- faults ----

# A fault is a kind, an id and a sentence, for example (lost, ID, "... is missing").
sub fault
{
	my ($self, $kind, $id, $text) = @_;

	push @{ $self->{faults} }, [ $kind, $id, $text ];
	return;
}

sub faults
{
	return @{ $_[0]->{faults} };
}

# How many faults are of these kinds.
sub count_of
{
	my ($self, @kinds) = @_;
	my %wanted = map { $_ => 1 } @kinds;

	return scalar grep { $wanted{ $_->[0] } } $self->faults;
}

# All that the witnesses say of an id, in one line.
sub history
{
	my ($self, $id) = @_;
	my $wanted = $self->{wanted}{$id};

	return sprintf 'client: %s; database: %s; handlers: %s',
	  $wanted ? "$wanted " . $self->told($self->tx_of($id)) : 'nothing',
	  $self->{tasks}{$id} // 'nothing', $self->{ledger}{$id} // 'nothing';
}

# The faults as sentences, each with its history.
sub report
{
	my ($self, $most) = @_;
	my @faults = $self->faults;

	splice @faults, $most if @faults > $most;
	return map { "$_->[0]: $_->[1] $_->[2] ($_->[1] -- " . $self->history($_->[1]) . ')' } @faults;
}

# ---- the ledger ----

sub take_ledger
{
	my ($self, $line) = @_;
	my ($what, $id, $version, $more, $time) = split / /, $line;

	return if $what !~ /^(?:start|end)$/;
	$self->{count}{starts}++ if $what eq 'start';
	$self->fault(unfounded => $id, "ended version $version, which had not started")
	  if $what eq 'end' && index($self->{ledger}{$id} // '', " start $version ") < 0;
	$self->{ledger}{$id} .= " $what $version $more" . ($what eq 'start' ? " $time" : '');
	return;
}

# The starts of a task by version, with their number, their type and the time of the last one.
sub starts_of
{
	my ($self, $id) = @_;
	my %starts;

	while ($self->{ledger}{$id} =~ / start (\d+) (\S+) (\S+)/g)
	{
		my $start = $starts{$1} //= { count => 0, type => $2 };

		$start->{count}++;
		$start->{last} = $3;
	}
	return \%starts;
}

# The result that a handler named at the end of a version.
sub end_of
{
	my ($self, $id, $version) = @_;
	my @said = ($self->{ledger}{$id} // '') =~ / end $version (\S+)/g;

	return $said[-1] // 'nothing';
}

sub take_topic
{
	my ($self, $line) = @_;

	$self->{in_topic}{ (split / /, $line)[1] } = 1;
	return;
}

sub take_crash
{
	my ($self, $time) = @_;

	push @{ $self->{crashes} }, $time;
	return;
}

# ---- clients ----

sub take_client
{
	my ($self, $line) = @_;
	my ($tx, $what, $id) = split / /, $line;

	return if $what =~ /(?:event|start|message)$/;
	if (defined $id)
	{
		$self->{wanted}{$id} = "$tx $what";
		$self->{clients}{$tx}{$what} .= "$id ";
		return;
	}
	$self->{clients}{$tx}{told} = $what;
	return;
}

# The transaction of a producer that was to add a task.
sub tx_of
{
	my ($self, $id) = @_;

	return ($self->{wanted}{$id} // return) =~ /^(\S+)/ ? $1 : ();
}

# The tasks that a transaction was to "add", or to "drop".
sub tasks_of
{
	my ($self, $tx, $what) = @_;

	return split / /, $self->{clients}{$tx}{$what} // '';
}

# ---- logical decoding ----

sub take_decoded
{
	my ($self, $line) = @_;
	my ($what, @rest) = split / /, $line;

	if ($what eq 'begin')
	{
		$self->{transaction} = { xid => $rest[0], lines => [] };
	}
	elsif ($what =~ /^(?:switch|have|switched)$/)
	{
		$self->$what(@rest);
	}
	elsif ($what eq 'commit')
	{
		my $transaction = delete $self->{transaction};

		# After a crash of the server a slot repeats what it had shown.
		$self->take_transaction($transaction) if !$self->{shown}{ $transaction->{xid} }++;
	}
	elsif ($self->{transaction})
	{
		push @{ $self->{transaction}{lines} }, [ $what, @rest ];
	}
	return;
}

sub take_transaction
{
	my ($self, $transaction) = @_;

	$transaction->{$_} = {} foreach qw(left ended effects followed);
	foreach my $line (@{ $transaction->{lines} })
	{
		my ($what, $id, @rest) = @$line;

		if    ($what eq 'add')    { $self->add($transaction, $id, @rest) }
		elsif ($what eq 'change') { $self->change($id, @rest) }
		elsif ($what eq 'leave')  { $transaction->{left}{$id}++ }
		elsif ($what eq 'effect') { $transaction->{effects}{$id}++ }
		elsif ($what eq 'end')    { $self->change($id, @rest); $transaction->{ended}{$id}++ }
	}
	$self->judge_transaction($transaction);
	$_->take_transaction(@{ $transaction->{lines} }) foreach grep { $_->can('take_transaction') } @{ $self->{beside} };
	return;
}

sub add
{
	my ($self, $transaction, $id, $version, $status, $type, $follow, $after) = @_;

	return $self->fault(double => $id, 'was added twice') if $self->{tasks}{$id};
	$self->{tasks}{$id} = "$type $follow $after: $version $status";
	return $transaction->{followed}{$after}++ if $after ne '-';
	return if $self->is_ours($type);
	my $tx = $self->tx_of($id) // return $self->fault(ghost => $id, 'was added, and nobody had asked for it');
	my $client = $self->{clients}{$tx};

	$client->{xid} //= $transaction->{xid};
	$self->fault(torn => $id, "was committed apart from the rest of $tx") if $client->{xid} ne $transaction->{xid};
	return;
}

sub change
{
	my ($self, $id, $version, $status) = @_;
	my ($was, $old) = $self->state_of($id) or return $self->fault(ghost => $id, "is $status, and was never added");
	my $is_sql = $self->contract($id) eq 'sql';

	# The same row is written again when its version is kept, for example for its size.
	return if $version == $was && $status eq $old;
	$self->{tasks}{$id} .= " $version $status";
	# Grab and finish of a SQL handler are one transaction, which may write the end alone.
	return if $is_sql && $old eq 'SUBMITTED' && $version == $was + 2;
	$self->fault(broken => $id, "went from version $was to $version") if $version != $was + 1;
	$self->fault(broken => $id, "went from $old to $status") if $status !~ ($next{$old} // qr/^-$/);
	$self->judge_done($id, $was) if $status eq 'DONE' && !$is_sql;
	return;
}

# The text of a task in "tasks", also of one that a promotion has lost.
sub text_of
{
	my ($self, $id) = @_;

	return $self->{tasks}{$id} // $self->{gone}{$id};
}

sub type_of
{
	my ($self, $id) = @_;

	return $self->text_of($id) =~ /^(\S+)/ ? $1 : die "a task without type\n";
}

# How many tasks follow one after the other.
sub follow_of
{
	my ($self, $id) = @_;

	return $self->{tasks}{$id} =~ /^\S+ (\d+)/ ? $1 : 0;
}

# The last version and status of a task; nothing of one that is not known.
sub state_of
{
	my ($self, $id) = @_;

	return ($self->{tasks}{$id} // return) =~ / (\d+) (\S+)$/;
}

# The versions that were grabbed, or that a promoted server was the first to show.
sub grabbed_of
{
	my ($self, $id) = @_;
	my $life = $self->{tasks}{$id} =~ s/^[^:]*://r;
	my ($last, %grabbed) = (0);

	while ($life =~ /( switch)? (\d+) (\S+)/g)
	{
		@grabbed{ $1 ? $last + 1 .. $2 : $3 eq 'PROCESSING' ? $2 : () } = ();
		$last = $2;
	}
	return \%grabbed;
}

sub contract
{
	my ($self, $id) = @_;
	my $type = $self->type_of($id);
	my $contract = $self->{types}{$type} // die "type $type has no contract\n";

	return $like{$contract} // $contract;
}

# Whether the product adds tasks of this type.
sub is_ours
{
	my ($self, $type) = @_;

	return defined $like{ $self->{types}{$type} // '' };
}

# The status of a task, as the database told it last.
sub status_of
{
	my ($self, $id) = @_;

	return ($self->state_of($id))[1];
}

# A handler has said that it did the version from which the task is done, or a topic has it.
sub judge_done
{
	my ($self, $id, $version) = @_;
	my $said = $self->end_of($id, $version);

	if ($self->contract($id) eq 'sent')
	{
		$self->fault(unfounded => $id, 'is DONE, and no topic has a message of it') if !$self->{in_topic}{$id};
		return;
	}
	$self->fault(unfounded => $id, "is DONE from version $version, of which its handler said $said") if $said ne 'done';
	return;
}

sub compare
{
	my ($self, $id, $what, $has, $wants) = @_;

	$has //= 0;
	$self->fault($has < $wants ? 'lost' : 'double', $id, "ended with $has $what, not $wants") if $has != $wants;
	return;
}

# One transaction has all that belongs together.
sub judge_transaction
{
	my ($self, $transaction) = @_;
	my ($left, $ended, $effects, $followed) = @$transaction{qw(left ended effects followed)};

	foreach my $id (keys %$ended)
	{
		my $is_done = ($self->status_of($id) // next) eq 'DONE';
		my $wants = $is_done && $self->follow_of($id) > 0 ? 1 : 0;
		my $effect = $is_done && $self->contract($id) eq 'sql' ? 1 : 0;

		$self->fault(double => $id, 'ended twice') if $ended->{$id} > 1;
		$self->fault(double => $id, 'ended, and stays in the table of live tasks') if !$left->{$id};
		$self->compare($id, 'followers', $followed->{$id}, $wants);
		$self->compare($id, 'effects', $effects->{$id}, $effect);
		$self->{count}{followers} += $wants;
		$self->{count}{effects} += $effect;
	}
	$self->fault(lost => $_, 'left the table of live tasks, and did not end') foreach grep { !$ended->{$_} } keys %$left;
	$self->fault(double => $_, 'had an effect, and did not end with it') foreach grep { !$ended->{$_} } keys %$effects;
	$self->fault(ghost => $_, 'has a follower, and did not end with it') foreach grep { !$ended->{$_} } keys %$followed;
	return;
}

# ---- another server takes over ----

sub switch
{
	my ($self) = @_;

	# The promoted server gives numbers again that the old one gave last.
	$self->{shown} = {};
	$self->{switch} = { map { $_ => {} } qw(seen followed effects) };
	return;
}

# A row as the promoted server has it.  Nobody saw its last steps, or the server lacks
# them.
sub have
{
	my ($self, $id, $version, $status, $type, $follow, $after, $effects) = @_;
	my $switch = $self->{switch};
	my $was = $self->status_of($id) // '';

	return $self->fault(double => $id, 'has two rows in the promoted server') if $switch->{seen}{$id}++;
	$self->fault(ghost => $id, 'was added, and nobody had asked for it') if $after eq '-' && !$self->{wanted}{$id} && !$self->is_ours($type);
	$switch->{followed}{$after}++ if $after ne '-';
	$switch->{effects}{$id} = $effects;
	$self->{tasks}{$id} = ($self->{tasks}{$id} // "$type $follow $after:") . " switch $version $status";
	$self->judge_done($id, $version - 1) if $status eq 'DONE' && $was ne 'DONE' && $self->contract($id) ne 'sql';
	return;
}

# One moment of the promoted server has all that belongs together.
sub switched
{
	my ($self) = @_;
	my $switch = delete $self->{switch};
	my $tasks = $self->{tasks};

	foreach my $id (keys %$tasks)
	{
		my $is_done = $self->status_of($id) eq 'DONE';

		if (!$switch->{seen}{$id})
		{
			$self->{gone}{$id} = delete $tasks->{$id};
			next;
		}
		$self->compare($id, 'followers', delete $switch->{followed}{$id}, $is_done && $self->follow_of($id) > 0 ? 1 : 0);
		$self->compare($id, 'effects', $switch->{effects}{$id}, $is_done && $self->contract($id) eq 'sql' ? 1 : 0);
	}
	$self->fault(ghost => $_, 'has a follower, and is not in the promoted server') foreach sort keys %{ $switch->{followed} };
	return;
}

# ---- the tables in the end ----

sub take_row
{
	my ($self, $line) = @_;
	my ($id, $version, $status) = split / /, $line;

	return $self->fault(double => $id, 'has two rows') if $self->{rows}{$id};
	$self->{rows}{$id} = "$version $status";
	return;
}

# ---- the verdict ----

my %takes = (
	decoded => 'take_decoded',
	ledger => 'take_ledger',
	topics => 'take_topic',
	clients => 'take_client',
	crashes => 'take_crash',
	rows => 'take_row',
	ends => 'take_end');

# A line of a witness, for each judge who takes them.
sub take
{
	my ($self, $witness, $line) = @_;

	# Asking each judge anew for each of many lines would take half of the time.
	my $takers = $self->{takers}{$witness} //= [ grep { $_->[1] } map { [ $_, $_->can($takes{$witness}) ] } $self, @{ $self->{beside} } ];

	$_->[1]->($_->[0], $line) foreach @$takers;
	return;
}

# Takes the lines of a witness from a file.  Lines of handlers end in " .": a handler that is killed
# while it writes leaves a line without that end, and had only written so far.
sub read_file
{
	my ($self, $witness, $path) = @_;
	my $end = $witness eq 'ledger' ? qr/ \.$/ : qr/$/;

	open my $file, '<', $path or die "could not open \"$path\": $!";
	while (my $line = <$file>)
	{
		chomp $line;
		next if $line !~ s/$end//;
		$self->take($witness, $line);
	}
	close $file;
	return;
}

# Decoding is read after the ledger, the topics and the clients.  Nothing more comes after this.
sub judge
{
	my ($self) = @_;

	$self->{crashes} = [ sort { $a <=> $b } @{ $self->{crashes} } ];
	$self->judge_client($_) foreach sort keys %{ $self->{clients} };
	$self->judge_starts($_) foreach sort keys %{ $self->{ledger} };
	$self->judge_task($_) foreach sort keys %{ $self->{tasks} };
	$self->fault(ghost => $_, 'has a row, and was never added')
	  foreach grep { !$self->{tasks}{$_} } sort keys %{ $self->{rows} };
	$_->judge foreach @{ $self->{beside} };
	return;
}

# The answer that the client had to its transaction.
sub told
{
	my ($self, $tx) = @_;

	return $self->{clients}{$tx}{told} // 'unknown';
}

# "committed" or "refused": where the client does not know, its tasks tell.
sub fate
{
	my ($self, $tx) = @_;
	my $told = $self->told($tx);

	return $told if $told ne 'unknown';
	return (grep { $self->{tasks}{$_} } $self->tasks_of($tx, 'add')) ? 'committed' : 'refused';
}

# Nobody but the server knows what became of a transaction whose answer was lost: all of
# it is there, or none.
sub judge_client
{
	my ($self, $tx) = @_;
	my $told = $self->told($tx);
	my @all = $self->tasks_of($tx, 'add');
	my @there = grep { $self->{tasks}{$_} } @all;
	my %missing = map { $_ => 1 } @all;

	delete @missing{@there};
	$self->fault(ghost => $_, "was added, and $tx had rolled it back") foreach grep { $self->{tasks}{$_} } $self->tasks_of($tx, 'drop');
	if ($told eq 'committed')
	{
		$self->{count}{acknowledged} += @all;
		$self->fault(lost => $_, "is missing, and $tx was committed") foreach sort keys %missing;
		return;
	}
	if ($told eq 'refused')
	{
		$self->{count}{refused} += @all;
		$self->fault(ghost => $_, "was added, and $tx was not committed") foreach @there;
		return;
	}
	$self->{count}{ @there ? 'recovered' : 'vanished' } += @all;
	$self->fault(torn => $_, "is missing, and the rest of $tx is there") foreach @there ? sort keys %missing : ();
	return;
}

# How often the server had crashed at that time.
sub crashes_before
{
	my ($self, $time) = @_;
	my ($least, $most) = (0, scalar @{ $self->{crashes} });

	while ($least < $most)
	{
		my $middle = int(($least + $most) / 2);

		if ($self->{crashes}[$middle] <= $time) { $least = $middle + 1 }
		else                                    { $most = $middle }
	}
	return $least;
}

sub judge_starts
{
	my ($self, $id) = @_;
	my $is_there = $self->{tasks}{$id};
	my $starts = $self->starts_of($id);

	# The grab of what may start again is not waited for, and may be lost with the task.
	return if !%$starts || (!$is_there && $self->{gone}{$id} && $self->contract($id) eq 'again');
	return $self->fault(ghost => $id, 'was started, and never added') if !$is_there;
	my ($type, $contract, $grabbed) = ($self->type_of($id), $self->contract($id), $self->grabbed_of($id));
	my $all = 0;

	foreach my $version (sort { $a <=> $b } keys %$starts)
	{
		my ($count, $started_as, $last) = @{ $starts->{$version} }{qw(count type last)};
		my $lost = $contract eq 'again' ? $self->crashes_before($last) : 0;

		$all += $count;
		$self->fault(double => $id, "started version $version $count times") if $count > 1 + $lost;
		$self->fault(ghost => $id, "started version $version, which nobody had grabbed") if !exists $grabbed->{$version} && !$lost;
		$self->fault(broken => $id, "started as $started_as") if $started_as ne $type;
	}
	$self->fault(double => $id, "started $all times") if $contract eq 'once' && $all > 1;
	return;
}

# It has ended, or a person must look since nobody knows how it ended.
sub judge_task
{
	my ($self, $id) = @_;
	my ($version, $status) = $self->state_of($id);
	my $contract = $self->{types}{ $self->type_of($id) };
	my $is = "$version $status";
	my $row = $self->{rows}{$id};

	return $self->fault(lost => $id, "has no row, and should be $is") if !$row;
	$self->fault(broken => $id, "is $row in the table, and not $is") if $row ne $is;
	return if $status eq 'DONE' || ($status eq 'FAILED' && $contract eq 'step');
	return $self->{count}{unsure}++ if $status eq 'ERROR' && $contract =~ /once$/;
	$self->fault(lost => $id, "is $is in the end");
	return;
}

# Counts by name, for a line of results.
sub counts
{
	my ($self) = @_;

	return (
		%{ $self->{count} },
		tasks => scalar keys %{ $self->{tasks} },
		lost => $self->count_of('lost'),
		double => $self->count_of('double'),
		others => $self->count_of(qw(ghost torn broken unfounded)));
}

# They have such a fault to find.
sub sees_ok
{
	my ($self, $kind, $id, $text, $name) = @_;
	my @faults = map { $_->[2] } grep { $_->[0] eq $kind && $_->[1] eq $id } $self->faults;

	local $Test::Builder::Level = $Test::Builder::Level + 1;
	return ok(scalar(grep { $_ =~ $text } @faults), $name) || diag(join "\n", 'it said:', $self->report(99));
}

1;
