#!/usr/bin/env perl
#
# rooms.pl -- prints what breaks the order of the folders.
#
#	rooms.pl TABLE FILE...		all FILEs of one top folder see each other
#
# A name between quotes is that of a file of the same folder, of the same top folder,
# of another top folder, or with its top folder.
# A file and its headers count as one.  main.c puts a program together: it may include
# every folder of its top folder.

use strict;
use warnings;

my ($table, @files) = @ARGV;
my (%place, %allowed, %unused);		# by folder, by folder and folder
my %includes;						# by module: the modules that it includes
my %over;							# by top folder: others that it may include

sub module { return $_[0] =~ s/(_private)?\.[ch]$//r }
sub folder { return $_[0] =~ s{/[^/]*$}{}r }

sub read_table
{
	open my $in, '<', $table or die "$table: $!\n";
	while (<$in>)
	{
		next unless /^([\w\/]+)(:| <)\s*(.*)/;
		my ($room, @others) = ($1, split ' ', $3);
		if ($2 eq ' <')
		{
			$over{$room} = [ map { { name => $_, line => $. } } @others ];
			next;
		}
		$place{$room} = $.;
		$allowed{$room}{$_} = $unused{$room}{$_} = $. for map { $_ eq '.' ? top_of($room) : top_of($room) . "/$_" } @others;
	}
}

sub top_of { return $_[0] =~ s{/.*}{}r }

# The file of ours that a FILE includes by a NAME, if it is one.
sub included
{
	my ($file, $name) = @_;
	my $own = top_of($file);
	my %seen;

	return grep { -f } folder($file) . "/$name", (map { "$_/$name" } grep { !$seen{$_}++ } $own, sort map { top_of($_) } keys %place), $name;
}

sub check_include
{
	my ($from, $to, $where) = @_;
	my ($room, $other) = (folder($from), folder($to));

	print "$where: $room is not in $table\n" unless $place{$room};
	return if $room eq $other;
	return check_over($from, $to, $where) if top_of($from) ne top_of($to);
	delete $unused{$room}{$other};
	return if $from =~ m{/main\.c$};
	print "$where: $table does not let $room include $other\n" unless $allowed{$room}{$other};
}

sub check_over
{
	my ($from, $to, $where) = @_;
	my $top = top_of($from);
	my ($way) = grep { $to =~ m{^$_->{name}/} } @{ $over{$top} };

	$way->{used} = 1 if $way;
	print "$where: $table does not let $top include ${\ folder($to)}\n" unless $way;
}

sub read_file
{
	my ($file) = @_;

	open my $in, '<', $file or die "$file: $!\n";
	while (<$in>)
	{
		next unless /^#include "([^"]+)"/;
		my ($other) = included($file, $1) or next;
		check_include($file, $other, "$file:$.");
		$includes{module($file)}{module($other)} = 1 unless module($file) eq module($other);
	}
}

# Rows that allow what nobody does, or what a circle needs.
sub check_table
{
	for my $top (sort keys %over)
	{
		print "$table:$_->{line}: $top does not include $_->{name}\n" for grep { !$_->{used} } @{ $over{$top} };
	}
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
