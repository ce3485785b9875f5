# spring.pl -- an application of Spring Boot, packed by its plugin, runs its tasks as
# docs/helpers.md says.

use strict;
use warnings FATAL => 'all';

use Test::More;
use TwTasks::Published;

my $page = TwTasks::Published->create('Spring');
my @maven = ('mvn', '-q', '-B', "-Dmaven.repo.local=$ENV{TWT_CACHE}/maven");
my $dependency = sub {
	my ($group, $artifact) = @_;

	return "<dependency><groupId>$group</groupId><artifactId>$artifact</artifactId></dependency>\n";
};

sub source
{
	my ($name, $code, @imports) = @_;

	$page->write("src/main/java/shop/$name.java", "package shop;\n\n", map({ "import $_;\n" } @imports), "\n$code");
	return;
}

$page->set(
	SPRING_DATASOURCE_URL => 'jdbc:postgresql://' . $page->address . '/postgres',
	SPRING_DATASOURCE_USERNAME => 'shop');
$page->write('pom.xml',
	<<'XML', map({ $dependency->(@$_) } [ 'org.springframework.boot', 'spring-boot-starter-web' ], [ 'org.springframework.boot', 'spring-boot-starter-jdbc' ], [ 'org.postgresql', 'postgresql' ]), $page->block('xml'), <<'XML');
<project xmlns="http://maven.apache.org/POM/4.0.0">
	<modelVersion>4.0.0</modelVersion>
	<parent>
		<groupId>org.springframework.boot</groupId>
		<artifactId>spring-boot-starter-parent</artifactId>
		<version>3.5.16</version>
		<relativePath/>
	</parent>
	<groupId>shop</groupId>
	<artifactId>shop</artifactId>
	<version>1</version>
	<properties><java.version>17</java.version></properties>
	<dependencies>
XML
	</dependencies>
	<build>
		<finalName>shop</finalName>
		<plugins><plugin>
			<groupId>org.springframework.boot</groupId>
			<artifactId>spring-boot-maven-plugin</artifactId>
			<configuration><mainClass>shop.ShopApplication</mainClass></configuration>
		</plugin></plugins>
	</build>
</project>
XML
source('Tasks', $page->block('java', 0),
	'org.springframework.context.ApplicationContext', 'org.springframework.context.annotation.*',
	'org.springframework.jdbc.core.JdbcTemplate', 'twtasks.Twtasks');
source('Shop', $page->block('java', 1),
	'java.io.IOException', 'java.util.Map', 'org.springframework.jdbc.core.JdbcTemplate', 'org.springframework.stereotype.Service',
	'org.springframework.transaction.annotation.Transactional', 'twtasks.Twtasks', 'twtasks.Twtasks.TaskHandler');
source('ShopWorker', $page->block('java', 2),
	'org.springframework.boot.WebApplicationType', 'org.springframework.boot.builder.SpringApplicationBuilder', 'twtasks.Worker');
# The server takes an order, and ends.
source('ShopApplication', <<'JAVA', 'org.springframework.boot.*', 'org.springframework.boot.autoconfigure.SpringBootApplication');
@SpringBootApplication
public class ShopApplication {
    public static void main(String[] arguments) throws Exception {
        try (var application = SpringApplication.run(ShopApplication.class, "--server.port=0")) {
            application.getBean(Shop.class).order(Long.parseLong(arguments[0]));
        }
    }
}
JAVA

$page->copy_helper('spring', 'helper');
$page->run(@maven, '-f', 'helper/pom.xml', 'install');
$page->run(@maven, 'package');
$page->run('cp', 'target/shop.jar', 'shop.jar');

$page->start_sidecar;
$page->run('java', '-jar', 'shop.jar', '7');
$page->done_ok('DELIVER', 2);
$page->order_ok('delivered');
$page->print_ok(':: Spring Boot ::');
unlike($page->{sidecar}->log, qr/Tomcat/, 'the worker opens no port');

done_testing();
