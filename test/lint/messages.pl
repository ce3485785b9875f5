#!/usr/bin/env perl
#
# messages.pl -- looks at the messages of C files (ereport, GUC checks, lines
# of the log) or of SQL files (RAISE EXCEPTION).
#
# A message starts in lower case, has no full stop and names no C function; a
# detail or hint is a sentence.  No line ends in any, and the words of
# PostgreSQL's style guide.  Every error has a SQLSTATE.

use strict;
use warnings;

my $literal = qr/"(?:\\.|[^"\\])*"/s;
my %kind = (
	errmsg => 'message',
	errmsg_plural => 'message',
	errmsg_internal => 'message',
	log_line => 'message',
	log_task => 'message',
	errdetail => 'sentence',
	errdetail_plural => 'sentence',
	errdetail_log => 'sentence',
	errhint => 'sentence',
	errhint_plural => 'sentence',
	GUC_check_errmsg => 'message',
	GUC_check_errdetail => 'sentence',
	GUC_check_errhint => 'sentence',);

my @words = (
	[ qr/\bunknown\b/i, 'unrecognized, not unknown' ],
	[ qr/\b(?:illegal|bad)\b/i, 'invalid, not bad or illegal' ],
	[ qr/\b(?:unable|failed) to\b/i, 'could not or cannot, not unable or failed to' ],
	[ qr/\b\w+n't\b/i, 'no contractions' ],
	[ qr/\\n|\\t|\n/, 'no line ends or tabs' ],);

my ($file, $text);

sub breach
{
	my ($position, $what) = @_;

	my $line = 1 + (substr($text, 0, $position) =~ tr/\n//);
	print "$file:$line: $what\n";
	return;
}

sub check_words
{
	my ($position, $message) = @_;

	for my $word (@words)
	{
		breach($position, "$word->[1]: \"$message\"") if $message =~ $word->[0];
	}
	return;
}

sub check_message
{
	my ($position, $message) = @_;

	breach($position, "starts in upper case: \"$message\"")
	  if $message =~ /^[A-Z][a-z]/;
	breach($position, "ends like a sentence: \"$message\"")
	  if $message =~ /[.!]\s*$/ && $message !~ /\.\.\.$/;
	breach($position, "names a function: \"$message\"")
	  if $message =~ /(?<![.\w])[a-z_]+\(\)/ && $message !~ /twtasks\./;
	return check_words($position, $message);
}

sub check_sentence
{
	my ($position, $message) = @_;

	breach($position, "not a sentence: \"$message\"")
	  if $message !~ /^["'%(A-Z0-9]|^twtasks\b/ || $message !~ /[.?]["']?$/;
	return check_words($position, $message);
}

sub check
{
	my ($position, $kind, $message) = @_;

	return $kind eq 'message'
	  ? check_message($position, $message)
	  : check_sentence($position, $message);
}

# The argument that is the format, from 0.
my %position = (log_line => 2, log_task => 3);

sub arguments
{
	my ($call) = @_;

	my @arguments = ('');
	while ($call =~ /\G($literal|'(?:\\.|[^'\\])'|(\((?:$literal|[^()"]|(?2))*\))|.)/gs)
	{
		$1 eq ',' ? push(@arguments, '') : ($arguments[-1] .= $1);
	}
	return @arguments;
}

# The format as one text; macros in it, such as INT64_FORMAT, count as a
# conversion.  Nothing when it is not a literal.
sub format_of
{
	my ($name, $call) = @_;

	my $format = (arguments(substr $call, 1, -1))[ $position{$name} // 0 ];
	return unless defined $format && $format =~ /^\s*"/;
	$format =~ s/"\s*[A-Za-z]\w*\s*"/d/g;
	$format =~ s/"\s*"//g;
	return $format =~ /^\s*"(.*)"[^"]*$/s ? $1 : undef;
}

# From the parenthesis at $from to its partner.
sub call_at
{
	my ($from) = @_;

	pos($text) = $from;
	return $& if $text =~ /\G(\((?:$literal|'(?:\\.|[^'\\])'|[^()"']|(?1))*\))/g;
	return '';
}

sub check_c
{
	# Comments go, their line ends stay.
	$text =~ s{($literal)|/\*.*?\*/}{$1 // ($& =~ tr/\n//cdr)}gse;
	my $names = join '|', sort { length $b <=> length $a } keys %kind;
	while ($text =~ /\b($names|ereport)(?=\s*\()/g)
	{
		my ($name, $start, $after) = ($1, $-[0], pos $text);
		my $call = call_at($after + length(($text =~ /\G(\s*)/)[0]));
		pos($text) = $after;
		if ($name eq 'ereport')
		{
			breach($start, 'error without errcode()')
			  if $call =~ /^\(\s*(?:ERROR|FATAL|PANIC)\b/ && $call !~ /\berrcode\w*\s*\(/;
			next;
		}
		my $format = format_of($name, $call);
		check($start, $kind{$name}, $format) if defined $format;
	}
	return;
}

sub check_sql
{
	$text =~ s{('(?:''|[^'])*')|/\*.*?\*/|--[^\n]*}{$1 // ($& =~ tr/\n//cdr)}gse;
	while ($text =~ /\bRAISE\s+EXCEPTION\s+'((?:''|[^'])*)'((?:'(?:''|[^'])*'|[^';])*);/g)
	{
		my ($start, $message, $options) = ($-[0], $1, $2);
		check_message($start, $message);
		breach($start, 'error without ERRCODE') if $options !~ /\bERRCODE\b/;
		while ($options =~ /\b(?:DETAIL|HINT)\s*=\s*'((?:''|[^'])*)'\s*(?:,|$)/g)
		{
			check_sentence($start, $1);
		}
	}
	return;
}

my $language = shift;
for (@ARGV)
{
	$file = $_;
	open my $in, '<', $file or die "$file: $!\n";
	$text = do { local $/; <$in> };
	$language eq 'sql' ? check_sql() : check_c();
}
