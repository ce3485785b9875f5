# NextEdition.pm -- the SQL edition of a version that comes after ours, made from sources
# that a test changes, and the updates that lead to it.

package TwTasks::NextEdition;

use strict;
use warnings FATAL => 'all';

use PostgreSQL::Test::Utils;
use Test::More;

# Copies the sources, and calls their version 77.1.
sub new
{
	my ($class) = @_;
	my $directory = PostgreSQL::Test::Utils::tempdir();
	my $self = bless { directory => $directory, sources => "$directory/next" }, $class;

	system('cp', '-R', ($ENV{TWT_EDITIONS} || die "scripts/check writes the editions\n") . '/source', $self->{sources}) == 0 or die "no sources\n";
	($self->{version}) = slurp_file("$self->{sources}/twtasks.control") =~ /^default_version *= *'([^']*)'/m;
	$self->rewrite('twtasks.control', "'$self->{version}'", q('77.1'));
	return $self;
}

# The version of ours.
sub version { return $_[0]{version}; }

# The path of a file of the sources, or of one that write() made.
sub source { return "$_[0]{sources}/$_[1]"; }
sub file { return "$_[0]{directory}/$_[1]"; }

# Replaces the first place of a text in a file of the sources.
sub rewrite
{
	my ($self, $file, $from, $to) = @_;
	my $text = slurp_file($self->source($file));

	$text =~ s/\Q$from\E/$to/ or die "$file: has no $from\n";
	unlink $self->source($file);
	append_to_file($self->source($file), $text);
	return;
}

# Appends to a file of the sources, or makes it.
sub append
{
	my ($self, $file, $text) = @_;

	append_to_file($self->source($file), $text);
	return;
}

# Appends to the part of the update that is written by hand; of a FOLDER with "upgrade".
sub by_hand
{
	my ($self, $folder, $text) = @_;

	return $self->append("$folder/upgrade/$self->{version}--77.1.sql", $text);
}

# Lets scripts/edition write a file.
sub write
{
	my ($self, $file, @options) = @_;
	my ($sql, $errors) = run_command([ $self->source('scripts/edition'), @options ]);

	is($errors, '', "edition @options");
	append_to_file($self->file($file), "$sql\n");
	return;
}

# The error of psql with a file, or nothing.
sub load
{
	my ($node, $database, $file, $user) = @_;
	my ($out, $errors) = run_command([ 'psql', '-Xq', '-o', '/dev/null', '-d', $node->connstr($database) . " user=$user", '-f', $file ]);

	return $errors =~ /(ERROR:.*)/s ? $1 : '';
}

1;
