#!/usr/bin/env bash
#
# docs/coverage.md and docs/reliability.md name tests that exist: each row has a file and
# a name that stands in it; in coverage.md a reason may take the place of the file.
# reliability.md names no other file of test/, and no target of make, that is missing.

. "$(dirname "$0")/lib.bash"

tests()
{
	perl -ne '
		close ARGV if eof;
		my $may_lack = $ARGV eq "docs/coverage.md";
		next unless /^\| (.*?) +\|(.*)\|(.*)\|$/ && $1 !~ /^(the original|not tested|defect\b)/;
		my ($theirs, $file, $name) = map { s/^\s+|\s+$//gr } $1, $2, $3;
		next unless $may_lack || $file =~ m{^`test/};
		$seen{$ARGV}++;
		if ($name eq "") { print "$ARGV:$.: neither a test nor a reason: $theirs\n"; next }
		next if $file eq "";
		$file =~ s/^`|`$//g;
		if (!exists $text{$file}) {
			local ($/, *IN);
			$text{$file} = open(IN, "<", $file) ? <IN> =~ s/\s+(?:# |-- )?/ /gr : undef;
		}
		if (!defined $text{$file}) { print "$ARGV:$.: there is no $file\n" }
		elsif (index($text{$file} =~ s/\\\x27/\x27/gr, $name) < 0) { print "$ARGV:$.: $file has no \"$name\"\n" }
		END {
			my %least = ("docs/coverage.md" => 150, "docs/reliability.md" => 30);
			printf "%s:1: only %d rows\n", $_, $seen{$_} // 0 for grep { ($seen{$_} // 0) < $least{$_} } sort keys %least;
		}
	' docs/coverage.md docs/reliability.md
}

places()
{
	perl -ne '
		while (m{`(test/[^` ]*)`}g) { print "$ARGV:$.: there is no $1\n" unless -e $1 }
		while (/`make ([a-z-]+)/g) { print "$ARGV:$.: make has no target $1\n" if system("grep", "-q", "^$1:", "Makefile") }
	' docs/reliability.md
}

{
	tests
	places
} | breaches
