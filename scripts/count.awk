# count.awk -- counts the results in what a test runner wrote.
#
# Reads the output of prove -v, or of pg_regress of any version.  Prints
# "passed failed skipped"; to the file named by skips, one line per skip: the
# test file, or the test's name where no file was announced, a tab, the reason.
#
# A file that broke off before or after its tests is one failure more.

# Comments, such as the output of other runners
/^#/ { next }

# prove -v announces a file: "t/010_end_to_end.pl .. "
/^[^ ]+ \.\.+ *$/ { file = $1 }

/^ok [0-9]/ && /# *[Ss][Kk][Ii][Pp]/ { skip($0); next }
/^1\.\.0 *# *[Ss][Kk][Ii][Pp]/ { skip($0); next }
/^not ok [0-9].*# *TOD[O]/ { passed++; next }
/^ok [0-9]/ { passed++; next }
/^not ok [0-9]/ { failed++; next }

# pg_regress before version 16
/ \.\.\. +ok( |$)/ { passed++ }
/ \.\.\. +FAILED/ { failed++ }

# prove's report on files
/ \(Wstat: .*Failed: [0-9]+\)/ { intact = / Failed: 0\)/ }
intact && /^  (Parse errors|Non-zero (exit|wait) status):/ { failed++; intact = 0 }

function skip(line,   name)
{
	skipped++
	name = line
	sub(/^.*ok [0-9]+ *-? */, "", name)
	sub(/ *#.*/, "", name)
	sub(/^.*# *[Ss][Kk][Ii][Pp][^ ]* */, "", line)
	if (skips != "")
		printf "%s\t%s\n", file != "" ? file : name, line >skips
}

END { print passed + 0, failed + 0, skipped + 0 }
