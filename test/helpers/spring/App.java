import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.net.URI;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.beans.factory.FactoryBean;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DataSourceTransactionManager;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;
import twtasks.Twtasks;
import twtasks.Twtasks.Task;
import twtasks.Twtasks.TaskHandler;
import twtasks.Worker;

/** An application with the helper for Spring: TwTasks/Helper.pm says what it is told. */
@Configuration
@EnableTransactionManagement
public class App {
    public static class NoBike extends RuntimeException {}

    public static class Shop {
        private final JdbcTemplate database;
        private final Twtasks tasks;

        public Shop(JdbcTemplate database, Twtasks tasks) {
            this.database = database;
            this.tasks = tasks;
        }

        /** Is a method of a proxy, since another one is transactional. */
        @TaskHandler("DELIVER")
        public void deliver(Task task) throws IOException, InterruptedException {
            String name = task.data().get("name").asText();
            database.update("INSERT INTO deliveries VALUES (?, ?, ?)", name, task.tries(), ProcessHandle.current().pid());
            database.execute("SELECT pg_advisory_xact_lock_shared(1)");
            if (name.startsWith("fail") && task.tries() == 1) throw new IllegalStateException("no van");
            if (name.equals("noise")) {
                System.out.println("noise of a handler");
                new ProcessBuilder("echo", "noise of a child").inheritIO().start().waitFor();
            }
            if (name.equals("odd")) throw new Twtasks.Answer(Map.of("result", "retry", "context", new Object()));
        }

        @Transactional
        public void order(String name, Map<String, ?> options, boolean fails) throws IOException {
            database.update("INSERT INTO orders VALUES (?)", name);
            tasks.add("DELIVER", options.containsKey("payload") ? null : Map.of("name", name), options);
            if (fails) throw new NoBike();
        }
    }

    @Bean
    DataSource dataSource() {
        URI url = URI.create(System.getenv("DATABASE_URL"));
        return new DriverManagerDataSource("jdbc:postgresql://" + url.getAuthority().replaceFirst(".*@", "") + url.getPath(),
                url.getUserInfo(), "");
    }

    @Bean
    JdbcTemplate database(DataSource source) {
        return new JdbcTemplate(source);
    }

    @Bean
    PlatformTransactionManager transactions(DataSource source) {
        return new DataSourceTransactionManager(source);
    }

    @Bean
    Twtasks tasks(ApplicationContext beans, JdbcTemplate database) {
        return new Twtasks(beans, database);
    }

    @Bean
    Shop shop(JdbcTemplate database, Twtasks tasks) {
        return new Shop(database, tasks);
    }

    /** A bean whose type is known only when it is made. */
    @Bean
    FactoryBean<?> late() {
        return new FactoryBean<Object>() {
            @Override
            public Object getObject() {
                return "late";
            }

            @Override
            public Class<?> getObjectType() {
                return null;
            }
        };
    }

    static void rollBack(Shop shop, String name) throws IOException {
        try {
            shop.order(name, Map.of(), true);
            throw new AssertionError("no rollback");
        } catch (NoBike expected) {
            System.err.println("rolled back");
        }
    }

    static void test(Twtasks tasks, Shop shop, String name) throws Throwable {
        List<Task> added = tasks.testing(new ArrayList<>());
        shop.order(name, Map.of(), false);
        if (added.size() != 1 || !added.get(0).type().equals("DELIVER")) throw new AssertionError(added);
        tasks.run(added.get(0));
        tasks.testing(null);
    }

    static ApplicationContext noisyStart() {
        System.out.println("noise of a start");
        return new AnnotationConfigApplicationContext(App.class);
    }

    public static void main(String[] arguments) throws Throwable {
        if (arguments[0].equals("work")) {
            Worker.work(App::noisyStart);
            System.exit(0);
        }
        try (var context = new AnnotationConfigApplicationContext(App.class)) {
            Shop shop = context.getBean(Shop.class);
            Twtasks tasks = context.getBean(Twtasks.class);
            for (String name : List.of(arguments).subList(1, arguments.length)) {
                switch (arguments[0]) {
                    case "add" -> shop.order(name, Map.of(), false);
                    case "options" -> shop.order(name, Map.of("key", name, "priority", 2, "payload", name.getBytes(UTF_8),
                            "run_after", Instant.parse("2100-01-01T00:00:00Z")), false);
                    case "rollback" -> rollBack(shop, name);
                    case "test" -> test(tasks, shop, name);
                    default -> throw new IllegalArgumentException(arguments[0]);
                }
            }
        }
    }
}
