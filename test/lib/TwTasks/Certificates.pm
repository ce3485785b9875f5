# Certificates.pm -- authorities and certificates of tests, by openssl.
#
# All of it is in files of one directory: NAME.crt, and NAME.key beside it.

package TwTasks::Certificates;

use strict;
use warnings FATAL => 'all';

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT_OK = qw(make_authority make_certificate);

my @new_key = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes');

sub openssl
{
	PostgreSQL::Test::Utils::system_log('openssl', @_) == 0 or die "openssl failed\n";
	return;
}

# An authority of that name.
sub make_authority
{
	my ($directory, $name) = @_;

	openssl('req', '-x509', @new_key, '-days', 2, '-subj', "/CN=$name", '-addext', 'basicConstraints=critical,CA:true',
		'-keyout', "$directory/$name.key", '-out', "$directory/$name.crt");
	return;
}

# A certificate of the authority for a subject such as /CN=robot, at localhost or another host.
sub make_certificate
{
	my ($directory, $authority, $name, $subject, $host) = @_;

	openssl('req', @new_key, '-subj', $subject, '-addext', 'subjectAltName=DNS:' . ($host // 'localhost'), '-keyout', "$directory/$name.key", '-out', "$directory/$name.csr");
	openssl('x509', '-req', '-in', "$directory/$name.csr", '-copy_extensions', 'copy', '-days', 2, '-CAcreateserial',
		'-CA', "$directory/$authority.crt", '-CAkey', "$directory/$authority.key", '-out', "$directory/$name.crt");
	chmod oct 600, "$directory/$name.key";
	return;
}

1;
