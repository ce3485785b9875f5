#!/usr/bin/env perl
#
# prose.pl -- reads the comments of source files and the headings of pages, and
# prints file:line: message for these faults:
#
#	a sentence that begins with a word that makes readers guess its noun
#	"that of" in place of a noun, in pages and in comments of src, sql and extensions
#	in pages: a noun that is negated, "ours" and "theirs" for a noun, a change that is
#	announced and not told
#	a name of a file that does not exist; a file of the server's is named after
#	"PostgreSQL's"
#
#	prose.pl FILE...

use strict;
use warnings;

# A noun, a verb or an article says it shorter.
my $beginning = qr/
	who | whoever | whom | whomever | whose | whosoever | what | whatever | which | whichever |
	so \s+ many | so \s+ much |
	of | that \s+ which | to \s+ be | those | one \s+ that | ones \s+ that | ours | theirs
/xi;

my $extension = qr/c|h|sql|spec|pl|pm|sh|bash|awk|py|js|mk|md|yaml|service|txt|scd/;

# Names of every file, and of every path that ends one.
my (%exists, %is_header);

sub read_tree
{
	for my $path (map { chomp; s{^\./}{}r } `find . -type f -not -path './.git/*'`)
	{
		my @parts = split m{/}, $path;
		$exists{ join '/', @parts[ $_ .. $#parts ] } = 1 for 0 .. $#parts;
	}
}

sub slurp
{
	my ($file) = @_;

	open my $in, '<', $file or die "$file: $!\n";
	local $/;
	return scalar <$in>;
}

# Each comment is an array of its first line's number and its lines.

# Comments between a slash with a star and their end, after // or after --.
sub comments_of_c
{
	my ($text, $line_mark) = @_;
	my @comments;
	my $line = 1;

	while ($text =~ m{\G(?:
			(?<literal>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\\n])*') |
			/\*(?<block>.*?)\*/ |
			$line_mark(?<line>[^\n]*) |
			(?<other>.))}gsx)
	{
		my ($block, $rest, $all) = ($+{block}, $+{line}, $&);

		if (defined $block)
		{
			push @comments, [ $line, map { s/^\s*\*?//r } split /\n/, $block ];
		}
		elsif (defined $rest)
		{
			add_line(\@comments, $line, $rest, is_alone($text, pos($text) - length $all));
		}
		$line += $all =~ tr/\n//;
	}
	return @comments;
}

# Nothing but blanks stands before it in its line.
sub is_alone
{
	my ($text, $offset) = @_;
	my $start = rindex($text, "\n", $offset - 1) + 1;

	return $offset == 0 || substr($text, $start, $offset - $start) !~ /\S/;
}

# A line that stands alone goes on with the comment above it.
sub add_line
{
	my ($comments, $line, $text, $is_alone) = @_;
	my $last = @$comments ? $comments->[-1] : undef;

	if ($is_alone && $last && $last->[0] + @$last - 1 == $line)
	{
		push @$last, $text;
	}
	else
	{
		push @$comments, [ $line, $text ];
	}
}

# Comments after a number sign, in a language that has only such.
sub comments_of_shell
{
	my ($text) = @_;
	my @comments;
	my $line = 0;

	for (split /\n/, $text)
	{
		$line++;
		next if $line == 1 && /^#!/;
		next unless /^(|.*?\s)#+(?![!{(])(.*)$/;
		my ($before, $comment) = ($1, $2);
		next if $before =~ tr/"'`// % 2;
		add_line(\@comments, $line, $comment, $before !~ /\S/);
	}
	return @comments;
}

sub comments_of_python
{
	my ($text) = @_;
	my @comments = comments_of_shell($text);

	push @comments, [ 1 + (substr($text, 0, $-[0]) =~ tr/\n//), split /\n/, $1 ]
		while $text =~ /"""(.*?)"""/gs;
	return @comments;
}

# Headings, outside of blocks.
sub headings
{
	my ($text) = @_;
	my ($line, $is_block, @headings) = (0, 0);

	for (split /\n/, $text)
	{
		$line++;
		$is_block = !$is_block if /^\s*```/;
		push @headings, [ $line, $1 ] if !$is_block && /^#+\s+(.*)/;
	}
	return @headings;
}

sub comments_of
{
	my ($file, $text) = @_;

	return headings($text) if $file =~ /\.md$/;
	return comments_of_c($text, '//') if $file =~ /\.(?:c|h|js)$/;
	return comments_of_c($text, '--') if $file =~ /\.sql$/;
	return comments_of_python($text) if $file =~ /\.py$/;
	return comments_of_shell($text);
}

# ---- the faults ----

# Paragraphs as [line number of each character's line, text].
sub paragraphs
{
	my ($first, @lines) = @_;
	my (@paragraphs, $open);

	for my $i (0 .. $#lines)
	{
		my $text = $lines[$i] =~ s/^\s+|\s+$//gr;
		my $is_item = $text =~ s/^(?:[-*]|\d+\.)\s+//;

		$open = undef if $is_item || $text !~ /\w/;
		next if $text !~ /\w/;
		push @paragraphs, $open = [] unless $open;
		push @$open, [ $first + $i, $text ];
	}
	return @paragraphs;
}

sub find_beginnings
{
	my ($paragraph) = @_;
	my @lines = @$paragraph;
	my $ends = 1;
	my @found;

	for (@lines)
	{
		my ($number, $text) = @$_;

		push @found, [ $number, $1 ] if $ends && $text =~ /^($beginning)\b(?!['-])/;
		while ($text =~ /[.!?:;]["')]?\s+((?-i:(?=[A-Z]))$beginning)\b(?!['-])/g)
		{
			push @found, [ $number, $1 ];
		}
		$ends = $text =~ /[.!?]["')]?$/;
	}
	return @found;
}

# "that of" and the like, also across the end of a line.
sub find_riddles
{
	my ($paragraph) = @_;
	my @found;
	my $before = '';

	for (@$paragraph)
	{
		my ($number, $text) = @$_;

		push @found, [ $number, $1 ] if "$before $text" =~ /\b((?:that|those|these) of)\b/i;
		$before = $text =~ /(\S+)$/ ? $1 : '';
	}
	return @found;
}

# Names of files in a comment that neither we nor the system's headers have.
sub find_names
{
	my ($first, @lines) = @_;
	my @found;

	for my $i (0 .. $#lines)
	{
		while ($lines[$i] =~ m{(?<![\w.*/<>%\$\}-])((?:[\w.-]+/)*[\w-]+\.(?:$extension))(?![\w(*-]|\.\w)}g)
		{
			my $name = $1;

			next if $` =~ /(?:PostgreSQL's |shellcheck source=)$/;
			push @found, [ $first + $i, $name ]
				unless $exists{$name} || $is_header{$name} || $name =~ m{(?:^|/)(?:[A-Z]+\.\w+|[A-Z]\w*\.js)$};
		}
	}
	return @found;
}

# Habits in a page, without blocks and code.  The page of coverage quotes the names of
# tests.
sub find_habits
{
	my ($text) = @_;
	my @found;

	$text =~ s/^(\s*```).*?^\s*```$/$& =~ tr{\n}{}cdr/gems;
	$text =~ s/`[^`\n]*`/`/g;
	while ($text =~ /\b((?:that|those|these)\s+of|ours|theirs|(?<!there\s)(?:is|are)\s+no)\b(?!\s+(?:longer|more)\b)|^- (Changed\s+(?:how|what|in\s+whose))\b/gim)
	{
		my $habit = $1 // $2;

		push @found, [ 1 + (substr($text, 0, $-[0]) =~ tr/\n//), $habit =~ s/\s+/ /r ];
	}
	return @found;
}

read_tree();
for my $file (@ARGV)
{
	my $text = slurp($file);
	$is_header{$1} = 1 while $text =~ /^#include <(.*)>/mg;
}
for my $file (@ARGV)
{
	my $text = slurp($file);

	my $is_page = $file =~ m{^(?!bench/|docs/coverage).*\.md$};
	my $is_product = $file =~ m{^(?:src|sql|extensions)/};

	print "$file:$_->[0]: \"$_->[1]\": name the thing, and say what it does\n"
		for $is_page ? find_habits($text) : ();
	for my $comment (comments_of($file, $text))
	{
		print "$file:$_->[0]: there is no file \"$_->[1]\"\n" for find_names(@$comment);
		for my $paragraph (paragraphs(@$comment))
		{
			print "$file:$_->[0]: a sentence begins with \"$_->[1]\"\n" for find_beginnings($paragraph);
			print "$file:$_->[0]: \"$_->[1]\": name the thing\n" for $is_product ? find_riddles($paragraph) : ();
		}
	}
}
