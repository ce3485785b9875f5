#!/usr/bin/env perl
#
# severities.pl -- holds what says how urgent a trouble is against the table of
# twtasks_internal.incident_rules(), and prints file:line: message for each breach.
#
#	severities.pl WARNING...	the names of all warnings

use strict;
use warnings;

my ($sql, $doctor, $rules, $monitoring, $incidents, $operations, $runbook) =
	qw(sql/watch/find_incidents.sql tools/doctor_checks.c share/prometheus/twtasks.rules.yml docs/monitoring.md docs/incidents.md docs/operations.md docs/runbook.md);
my %text = map { $_ => slurp($_) } $sql, $doctor, $rules, $monitoring, $incidents, $operations, $runbook;
my %is_warning = map { $_ => 1 } @ARGV;
my (%severity, %page_from, %told);

sub slurp
{
	my ($file) = @_;

	open my $in, '<', $file or die "$file: $!\n";
	local $/;
	return scalar <$in>;
}

sub breach
{
	my ($file, $at, $message) = @_;

	print "$file:", 1 + (substr($text{$file}, 0, $at) =~ tr/\n//), ": $message\n";
}

# Calls use_row with each row of the table that begins with those titles.
sub each_row
{
	my ($file, $titles, $use_row) = @_;

	$text{$file} =~ /^\Q| $titles |\E.*\n\|[-|]+\n((?:\|.*\n)+)/mg or return breach($file, 0, "there is no table \"$titles\"");
	my ($rows, $at) = ($1, $-[1]);
	foreach my $row (split /\n/, $rows)
	{
		my (undef, @cells) = map { s/^\s+|\s+$//gr } split /(?<!\\)\|/, $row;

		$use_row->($at, @cells);
		$at += 1 + length $row;
	}
}

# ---- the table, and the rows that it needs ----

my ($body) = $text{$sql} =~ /FUNCTION twtasks_internal[.]incident_rules\(.*?\$\$(.*?)\$\$;/s;

while ($body =~ /\('([^']+)', (?:'(page|ticket)'|NULL), (?:(\d+)\S*|NULL),/g)
{
	($severity{$1}, $page_from{$1}) = ($2 || 'none', $3);
}
breach($sql, 0, "no rule for the warning \"$_\"") foreach grep { !$severity{$_} } sort keys %is_warning;

sub expected
{
	my ($kind) = @_;

	return $severity{$kind} . ($page_from{$kind} ? ", page from $page_from{$kind} tasks" : '');
}

# Something finds incidents of that kind.
sub is_found
{
	my ($kind) = @_;

	return $is_warning{$kind} || $text{$sql} =~ /SELECT '$kind'/;
}

# ---- the doctor ----

my ($fails) = $text{$doctor} =~ /w[.]warning IN \((.*?)\) THEN 'FAIL'/s;
my %is_failure = map { $_ => 1 } $fails =~ /'([^']+)'/g;

breach($doctor, 0, "\"$_\" is a page and does not fail, or is none and fails")
	foreach grep { $is_failure{$_} xor ($severity{$_} || '') eq 'page' } sort keys %is_warning;

# ---- the pages ----

my %in_page;

sub compare_row
{
	my ($file, $at, $kinds, $said) = @_;

	foreach my $kind ($kinds =~ /`([^`]+)`/g)
	{
		$in_page{$kind} = 1;
		breach($file, $at, "\"$kind\" is of severity " . expected($kind) . ", not $said") if $severity{$kind} && $said ne expected($kind);
		breach($file, $at, "there is no warning \"$kind\"") if $file eq $operations && !$is_warning{$kind};
	}
}

each_row($operations, 'warning | severity', sub { compare_row($operations, @_[ 0, 1, 2 ]) });
each_row($incidents, 'kind | key | opens', sub { compare_row($incidents, $_[0], $_[1], $_[4]) unless $_[1] =~ /^`more`|^a warning/ });
breach($sql, 0, "no page has the severity of \"$_\"") foreach grep { !$in_page{$_} && is_found($_) } sort keys %severity;

my %has_heading = map { $_ => 1 } $text{$runbook} =~ /^## (.+)$/mg;
breach($runbook, 0, "no heading for the warning \"$_\"") foreach grep { !$has_heading{$_} } sort keys %is_warning;

# ---- the alerts ----

my %of_alert;

while ($text{$rules} =~ /^ +- alert: (\w+)\n(.*?)(?=\n\n|\z)/msg)
{
	my ($alert, $rule, $at) = ($1, $2, $-[0]);
	my ($said) = $rule =~ /severity: (\w+)/;
	my ($kinds) = $rule =~ /^ +incident: "?(.*?)"?$/m;
	my ($but) = $rule =~ /kind!~"([^"]+)"/;
	my %is_left_out = map { $_ => 1 } split /\|/, $but || '';

	# the label has the kind: a list of them, or all others
	$kinds = $rule =~ /kind=~"([^"]+)"/ ? $1 : join '|', grep { !$is_left_out{$_} } sort keys %is_warning if ($kinds || '') =~ /\$labels/;
	$of_alert{$alert} = $said;
	breach($runbook, 0, "no heading for the alert $alert") unless $has_heading{$alert};
	foreach my $kind (split /\||, /, $kinds || '')
	{
		my $is_page = ($severity{$kind} || '') eq 'page';

		$told{$kind}{$said} = 1;
		breach($rules, $at, "$alert: there is no kind \"$kind\" of incidents") unless $severity{$kind};
		breach($rules, $at, "$alert is of severity $said, the incident \"$kind\" is not")
			if $said eq 'page' ? !$is_page && !$page_from{$kind} : $is_page;
	}
}
foreach my $kind (grep { !/^(more|warning)$/ } sort keys %severity)
{
	breach($rules, 0, "no alert tells of \"$kind\"") if !$told{$kind} && $severity{$kind} ne 'none';
	breach($rules, 0, "no alert makes \"$kind\" a page") if $page_from{$kind} && !$told{$kind}{page};
}

each_row(
	$monitoring,
	'alert | when | for',
	sub {
		my ($at, $alert, $severity) = @_[ 0, 1, 4 ];

		breach($monitoring, $at, "alert $alert is of severity " . ($of_alert{$alert} || 'none') . ", not $severity")
			if ($of_alert{$alert} || '') ne $severity;
		delete $of_alert{$alert};
	});
breach($monitoring, 0, "no row for the alert $_") foreach sort keys %of_alert;
