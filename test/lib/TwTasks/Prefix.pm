# Prefix.pm -- a PostgreSQL of our own, for tests that need other extension
# files than those that are installed.
#
# The server finds its files relative to where its program lies.  So a copy of
# the programs, with links to everything else in the same places around it,
# reads its extensions from a folder that we can write.

package TwTasks::Prefix;

use strict;
use warnings FATAL => 'all';

use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use PostgreSQL::Test::Utils;

sub config
{
	my ($name) = @_;
	my ($value) = run_command([ 'pg_config', "--$name" ]);

	return $value;
}

# Returns the common beginning of two paths, up to a slash.
sub common
{
	my ($left, $right) = @_;
	my $n = 0;

	$n++
	  while $n < length $left
	  && substr($left, 0, $n + 1) eq substr($right, 0, $n + 1);
	return substr($left, 0, $n) =~ s/[^\/]*$//r;
}

sub link_all
{
	my ($from, $to, @but) = @_;
	my %but = map { $_ => 1 } @but;

	make_path($to);
	foreach my $file (glob "$from/*")
	{
		next if $but{ basename($file) };
		symlink $file, "$to/" . basename($file)
		  or die "could not link \"$file\": $!";
	}
	return;
}

# Makes the tree, with no files of that extension but copies of those that are
# installed.  Dies where it cannot be made.
sub new
{
	my ($class, $extension) = @_;
	my $root = PostgreSQL::Test::Utils::tempdir_short();
	my ($bin, $share, $lib) =
	  map { config($_) } qw(bindir sharedir pkglibdir);
	my $common = common($bin, $share);
	my $self = bless {}, $class;
	my ($own_bin, $own_share, $own_lib) =
	  map { "$root/" . substr $_, length $common } $bin, $share, $lib;

	die "programs, libraries and data have no folder in common\n"
	  if common($bin, $lib) !~ /^\Q$common\E/;
	make_path($own_bin);
	foreach my $program (glob "$bin/*")
	{
		my $copy = "$own_bin/" . basename($program);

		copy($program, $copy) or die "could not copy \"$program\": $!";
		chmod oct 755, $copy;
	}
	link_all($lib, $own_lib);
	$self->{libraries} = $own_lib;
	link_all($share, $own_share, 'extension');
	$self->{extensions} = "$own_share/extension";
	link_all("$share/extension", $self->{extensions},
		map { basename($_) } glob "$share/extension/$extension*");
	copy($_, $self->{extensions})
	  or die "could not copy \"$_\": $!"
	  foreach glob "$share/extension/$extension*";
	$self->{install_path} = dirname($own_bin);
	return $self;
}

# As PostgreSQL::Test::Cluster wants it.
sub install_path
{
	return $_[0]->{install_path};
}

# Where libraries are, as links to the installed ones.
sub libraries
{
	return $_[0]->{libraries};
}

# Where extension files are.
sub extensions
{
	return $_[0]->{extensions};
}

1;
