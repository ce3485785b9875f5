import com.github.kagkarlsson.scheduler.Scheduler;
import com.github.kagkarlsson.scheduler.SchedulerBuilder;
import com.github.kagkarlsson.scheduler.SchedulerClient;
import com.github.kagkarlsson.scheduler.serializer.Serializer;
import com.github.kagkarlsson.scheduler.task.SchedulableInstance;
import com.github.kagkarlsson.scheduler.task.TaskDescriptor;
import com.github.kagkarlsson.scheduler.task.helper.OneTimeTask;
import com.github.kagkarlsson.scheduler.task.helper.Tasks;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Driver of db-scheduler: see ../README.md for what the commands mean. */
public class Driver extends Bench {

	/** The payload is a text already. */
	private static final Serializer TEXT = new Serializer() {
		@Override
		public byte[] serialize(Object data) {
			return ((String) data).getBytes(StandardCharsets.UTF_8);
		}

		@Override
		public <T> T deserialize(Class<T> type, byte[] data) {
			return type.cast(new String(data, StandardCharsets.UTF_8));
		}
	};

	private static final String TABLE = """
			CREATE TABLE %1$s (task_name text NOT NULL, task_instance text NOT NULL, task_data bytea,
				execution_time timestamptz NOT NULL, picked boolean NOT NULL, picked_by text,
				last_success timestamptz, last_failure timestamptz, consecutive_failures int,
				last_heartbeat timestamptz, version bigint NOT NULL, priority smallint,
				PRIMARY KEY (task_name, task_instance));
			CREATE INDEX ON %1$s (execution_time);
			CREATE INDEX ON %1$s (last_heartbeat);
			CREATE INDEX ON %1$s (priority DESC, execution_time ASC);
			""";

	private static final String COUNTER = """
			CREATE TABLE counter (id integer PRIMARY KEY, n bigint NOT NULL);
			INSERT INTO counter SELECT i, 0 FROM generate_series(0, 999) i;
			""";

	private SchedulerClient client;
	private SchedulerClient slowClient;

	private static HikariDataSource pool(int connections) {
		HikariConfig config = new HikariConfig();
		config.setJdbcUrl(jdbcUrl());
		config.setUsername(System.getenv("PGUSER"));
		config.setMaximumPoolSize(connections);
		return new HikariDataSource(config);
	}

	@Override
	String version() {
		return jarVersion(Scheduler.class);
	}

	@Override
	void prepare() throws Exception {
		try (HikariDataSource pool = pool(1); Connection connection = pool.getConnection();
				Statement statement = connection.createStatement()) {
			statement.execute(TABLE.formatted("scheduled_tasks") + TABLE.formatted("slow_tasks") + COUNTER);
		}
	}

	@Override
	void openProducer(int clients) {
		HikariDataSource pool = pool(clients);
		client = SchedulerClient.Builder.create(pool).serializer(TEXT).build();
		slowClient = SchedulerClient.Builder.create(pool).serializer(TEXT)
				.tableName("slow_tasks").build();
	}

	@Override
	void add(String kind, String data) {
		client.schedule(descriptor(kind).instance(UUID.randomUUID().toString()).data(data)
				.scheduledTo(Instant.now()));
	}

	private static TaskDescriptor<String> descriptor(String kind) {
		return TaskDescriptor.of(kind, String.class);
	}

	@Override
	void addMany(String kind, List<String> data, Duration later) {
		Instant when = later == null ? Instant.now() : Instant.now().plus(later);
		List<SchedulableInstance<?>> list = new ArrayList<>();
		for (String each : data) {
			list.add(descriptor(kind).instance(UUID.randomUUID().toString()).data(each)
					.scheduledTo(when));
		}
		boolean apart = kind.equals("slow") && SETTING.equals("best");
		(apart ? slowClient : client).scheduleBatch(list);
	}

	private static OneTimeTask<String> task(String kind, Handler handler) {
		return Tasks.oneTime(descriptor(kind)).execute((instance, context) -> handle(
				kind, instance.getData(), () -> handler.handle(instance.getData())));
	}

	private interface Handler {
		void handle(String data) throws Exception;
	}

	private static void count(HikariDataSource pool, String data) throws Exception {
		try (Connection connection = pool.getConnection(); PreparedStatement update =
				connection.prepareStatement("UPDATE counter SET n = n + 1 WHERE id = ?")) {
			update.setInt(1, numberIn(data, "i") % 1000);
			update.executeUpdate();
		}
	}

	private void addNext(String data) {
		int left = numberIn(data, "left");
		if (left > 0) {
			add("chain", left > 1 ? data.replace("\"left\":" + left, "\"left\":" + (left - 1))
					: data.replace("\"left\":1,", ""));
		}
	}

	/**
	 * It has no limit per kind. Where slow ones must be limited, the default is one scheduler with
	 * that many threads, and the best a second one, with a table of its own, for them.
	 */
	@Override
	Runnable serve() {
		HikariDataSource pool = pool(SETTING.equals("best") ? 50 : 20);
		OneTimeTask<String> slow = task("slow", data -> Thread.sleep(SLOW_MS));
		List<OneTimeTask<String>> others = new ArrayList<>(List.of(task("noop", data -> { }),
				task("sql", data -> count(pool, data)), task("chain", this::addNext)));
		List<Scheduler> schedulers = new ArrayList<>();
		if (works("chain")) {
			openProducer(20);
		}
		if (works("slow") && SETTING.equals("best")) {
			schedulers.add(tune(Scheduler.create(pool, slow), SLOW_LIMIT)
					.tableName("slow_tasks").build());
		} else if (works("slow")) {
			others.add(slow);
		}
		int limit = others.contains(slow) ? SLOW_LIMIT : 0;
		schedulers.add(tune(Scheduler.create(pool, List.copyOf(others)), limit).build());
		schedulers.forEach(Scheduler::start);
		return () -> schedulers.forEach(Scheduler::stop);
	}

	/** Its page on performance: lock and fetch in one statement, many threads, a short poll. */
	private static SchedulerBuilder tune(SchedulerBuilder builder, int threads) {
		builder.serializer(TEXT).shutdownMaxWait(Duration.ofSeconds(1));
		if (SETTING.equals("best")) {
			builder.threads(Integer.parseInt(variable("BENCH_CONCURRENCY", "50")))
					.pollUsingLockAndFetch(0.5, 4.0)
					.pollingInterval(Duration.ofMillis(10));
		}
		return threads > 0 ? builder.threads(threads) : builder;
	}

	public static void main(String[] args) {
		run(new Driver(), args);
	}
}
