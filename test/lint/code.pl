#!/usr/bin/env perl
#
# code.pl -- prints C files as file:line:text without their comments, so that
# rules about code do not see prose.
#
#	code.pl [--no-strings] FILE...		with --no-strings, literals are emptied

use strict;
use warnings;

my $strings = 1;
if (@ARGV && $ARGV[0] eq '--no-strings')
{
	$strings = 0;
	shift;
}

# Comments and emptied literals leave their line ends behind.
sub shorten
{
	my ($literal, $all) = @_;

	return $literal if defined $literal && $strings;
	my $quote = defined $literal ? substr($literal, 0, 1) : '';
	return $quote . ($all =~ tr/\n//cdr) . $quote;
}

for my $file (@ARGV)
{
	open my $in, '<', $file or die "$file: $!\n";
	my $text = do { local $/; <$in> };
	$text =~ s{("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|/\*.*?\*/|//[^\n]*}
		{shorten($1, $&)}gse;
	my $line = 0;
	print "$file:", ++$line, ":$_\n" for split /\n/, $text;
}
