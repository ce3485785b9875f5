#!/usr/bin/env perl
#
# rooms.pl -- prints what breaks the order of the folders.
#
#	rooms.pl TABLE FILE...		all FILEs of one top folder see each other
#
# A file and its header count as one.

use strict;
use warnings;

my ($table, @files) = @ARGV;
my (%place, %allowed, %unused);		# by folder, by folder and folder
my %includes;						# by module: the modules that it includes
my %top;							# that have rows in the table

sub module { return $_[0] =~ s/\.[ch]$//r }
sub folder { return $_[0] =~ s{/[^/]*$}{}r }

sub read_table
{
	open my $in, '<', $table or die "$table: $!\n";
	while (<$in>)
	{
		next unless /^([\w\/]+):\s*(.*)/;
		my ($room, @others) = ($1, split ' ', $2);
		$place{$room} = $.;
		$top{$room =~ s{/.*}{}r} = 1;
		$allowed{$room}{$_} = $unused{$room}{$_} = $. for map { ($room =~ s{/.*}{}r) . "/$_" } @others;
	}
}

sub check_include
{
	my ($from, $to, $where) = @_;
	my ($room, $other) = (folder($from), folder($to));

	print "$where: $room is not in $table\n" unless $place{$room};
	return if $room eq $other;
	delete $unused{$room}{$other};
	print "$where: $table does not let $room include $other\n" unless $allowed{$room}{$other};
}

sub read_file
{
	my ($file) = @_;
	my ($top) = $file =~ m{^(\w+)};

	return unless $top{$top};
	open my $in, '<', $file or die "$file: $!\n";
	while (<$in>)
	{
		next unless /^#include "([^"]+)"/ && -e "$top/$1";
		check_include($file, "$top/$1", "$file:$.");
		$includes{module($file)}{module("$top/$1")} = 1 unless module($file) eq module("$top/$1");
	}
}

# Rows that allow what nobody does, or what a circle needs.
sub check_table
{
	for my $room (sort keys %allowed)
	{
		for my $other (sort keys %{ $allowed{$room} })
		{
			print "$table:$place{$room}: $room does not include $other\n" if $unused{$room}{$other};
			print "$table:$place{$room}: $other does not stand below $room\n"
				unless ($place{$other} // 0) > $place{$room};
		}
	}
}

my %state;							# by module: 1 on the way, 2 done

sub visit
{
	my ($module, @way) = @_;

	$state{$module} = 1;
	for my $next (sort keys %{ $includes{$module} })
	{
		print "$next.h:1: a circle: @way $module $next\n" if ($state{$next} // 0) == 1;
		visit($next, @way, $module) unless $state{$next};
	}
	$state{$module} = 2;
}

read_table();
read_file($_) for @files;
check_table();
$state{$_} or visit($_) for sort keys %includes;
