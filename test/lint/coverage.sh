#!/usr/bin/env bash
#
# docs/coverage.md names tests that exist: each row has a file and a name that
# stands in it, or a reason.

. "$(dirname "$0")/lib.bash"

perl -ne '
	next unless /^\| (.*?) +\|(.*)\|(.*)\|$/ && $1 !~ /^(the original|not tested|defect\b)/;
	my ($theirs, $file, $name) = map { s/^\s+|\s+$//gr } $1, $2, $3;
	$seen++;
	if ($name eq "") { print "$ARGV:$.: neither a test nor a reason: $theirs\n"; next }
	next if $file eq "";
	$file =~ s/^`|`$//g;
	if (!exists $text{$file}) {
		local ($/, *IN);
		$text{$file} = open(IN, "<", $file) ? <IN> =~ s/\s+(?:# |-- )?/ /gr : undef;
	}
	if (!defined $text{$file}) { print "$ARGV:$.: there is no $file\n" }
	elsif (index($text{$file} =~ s/\\\x27/\x27/gr, $name) < 0) { print "$ARGV:$.: $file has no \"$name\"\n" }
	END { print "docs/coverage.md:1: only $seen rows\n" if $seen < 150 }
' docs/coverage.md | breaches
