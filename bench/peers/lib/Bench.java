import java.io.BufferedReader;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;

/** What the drivers in Java share: see ../README.md for the contract. */
public abstract class Bench {

	static final String SETTING = variable("BENCH_SETTING", "best");
	static final int DEPTH = Integer.parseInt(variable("BENCH_DEPTH", "100"));
	static final int SLOW_MS = Integer.parseInt(variable("BENCH_SLOW_MS", "1000"));
	static final int SLOW_LIMIT = Integer.parseInt(variable("BENCH_SLOW_LIMIT", "5"));

	private static final AtomicLong FIRST = new AtomicLong();
	private static final AtomicLong HANDLED = new AtomicLong();
	private static FileOutputStream trace;

	abstract String version();

	abstract void prepare() throws Exception;

	/** Connects as many clients as will add at once. */
	abstract void openProducer(int clients) throws Exception;

	abstract void add(String kind, String data) throws Exception;

	abstract void addMany(String kind, List<String> data, Duration later) throws Exception;

	/** Returns once the worker runs, with what stops it. */
	abstract Runnable serve() throws Exception;

	static String variable(String name, String otherwise) {
		String value = System.getenv(name);
		return value == null || value.isEmpty() ? otherwise : value;
	}

	static boolean works(String kind) {
		return Arrays.asList(variable("BENCH_KINDS", "noop").split(" ")).contains(kind);
	}

	/** By the server's socket: the private cluster has no network address. */
	static String jdbcUrl() {
		return "jdbc:postgresql://localhost/" + System.getenv("PGDATABASE")
				+ "?socketFactory=org.newsclub.net.unix.AFUNIXSocketFactory$FactoryArg&socketFactoryArg="
				+ System.getenv("PGHOST") + "/.s.PGSQL." + System.getenv("PGPORT")
				+ "&sslmode=disable&gssEncMode=disable&reWriteBatchedInserts=true";
	}

	/** The version in the name of the file that a class comes from. */
	static String jarVersion(Class<?> of) {
		String path = of.getProtectionDomain().getCodeSource().getLocation().getPath();
		String version = path.replaceAll(".*-(\\d[^/]*)\\.jar", "$1");
		return version + " (Java " + Runtime.version().feature() + ")";
	}

	/** Of a chain it says how many are still to follow. */
	static String payload(int i, int bytes, int left) {
		String head = "{\"i\":" + i + (left > 0 ? ",\"left\":" + left : "") + ",\"p\":\"";
		return head + "x".repeat(Math.max(0, bytes - head.length() - 2)) + "\"}";
	}

	/** 0 if there is none. */
	static int numberIn(String data, String name) {
		int at = data.indexOf("\"" + name + "\":");
		int from = at + name.length() + 3;
		return at < 0 ? 0 : Integer.parseInt(data.substring(from, data.indexOf(',', from)));
	}

	static synchronized void say(String json) {
		System.out.println(json);
		System.out.flush();
	}

	static void complain(Exception error) {
		error.printStackTrace();
		Runtime.getRuntime().halt(1);
	}

	/** What a handler does between its beginning and its end. */
	interface Work {
		void run() throws Exception;
	}

	/** Every handler calls this with its kind and the payload. */
	static void handle(String kind, String data, Work work) {
		if (FIRST.get() == 0) {
			FIRST.compareAndSet(0, System.nanoTime());
		}
		try {
			if (trace != null) {
				trace.write((kind + " " + numberIn(data, "i") + " " + System.nanoTime() + "\n").getBytes());
			}
			work.run();
		} catch (Exception error) {
			throw new IllegalStateException(error);
		}
		HANDLED.incrementAndGet();
	}

	private static void reportProgress() {
		long before = 0;
		while (true) {
			try {
				Thread.sleep(10);
			} catch (InterruptedException error) {
				return;
			}
			long handled = HANDLED.get();
			if (handled != before) {
				before = handled;
				say("{\"first\":" + FIRST + ",\"handled\":" + handled
						+ ",\"at\":" + System.nanoTime() + "}");
			}
		}
	}

	private void serveUntilStopped() throws Exception {
		String path = variable("BENCH_TRACE", "");
		trace = path.isEmpty() ? null : new FileOutputStream(path, true);
		Thread progress = new Thread(Bench::reportProgress);
		progress.setDaemon(true);
		if (variable("BENCH_QUIET", "").isEmpty()) {
			progress.start();
		}
		Runnable stop = serve();
		Runtime.getRuntime().addShutdownHook(new Thread(() -> {
			Thread late = new Thread(stop);
			late.setDaemon(true);
			late.start();
			try {
				late.join(5000);
			} catch (InterruptedException ignored) {
				// We are on our way out anyway.
			}
			Runtime.getRuntime().halt(0);
		}));
		say("{\"ready\":" + System.nanoTime() + "}");
		Thread.currentThread().join();
	}

	private void fill(String kind, int tasks, int bytes, boolean later) throws Exception {
		long begin = System.nanoTime();
		for (int i = 0; i < tasks; i += 1000) {
			List<String> data = new ArrayList<>();
			for (int k = i; k < Math.min(tasks, i + 1000); k++) {
				data.add(payload(k, bytes, kind.equals("chain") ? DEPTH - 1 : 0));
			}
			addMany(kind, data, later ? Duration.ofDays(1) : null);
		}
		sayAdded(tasks, begin);
	}

	private static void sayAdded(int tasks, long begin) {
		say("{\"added\":" + tasks + ",\"seconds\":" + (System.nanoTime() - begin) / 1e9 + "}");
	}

	private void enqueue(int clients, double seconds, int bytes) throws Exception {
		AtomicInteger next = new AtomicInteger();
		long begin = System.nanoTime();
		List<Thread> threads = new ArrayList<>();
		for (int c = 0; c < clients; c++) {
			threads.add(new Thread(() -> {
				try {
					while (System.nanoTime() - begin < seconds * 1e9) {
						add("noop", payload(next.getAndIncrement(), bytes, 0));
					}
				} catch (Exception error) {
					complain(error);
				}
			}));
		}
		threads.forEach(Thread::start);
		for (Thread thread : threads) {
			thread.join();
		}
		sayAdded(next.get(), begin);
	}

	private static BufferedReader openTrace() throws IOException {
		return new BufferedReader(new InputStreamReader(
				new FileInputStream(System.getenv("BENCH_TRACE")), StandardCharsets.US_ASCII));
	}

	/** Number and time of the next task that a worker started. */
	private static long[] nextStart(BufferedReader from) throws IOException {
		while (true) {
			String[] words = from.readLine().split(" ");
			if (words[0].equals("noop")) {
				return new long[] {Long.parseLong(words[1]), Long.parseLong(words[2])};
			}
		}
	}

	private void latency(int tasks, double seconds, int bytes) throws Exception {
		BufferedReader starts = openTrace();
		List<Long> fromCall = new ArrayList<>();
		List<Long> fromReturn = new ArrayList<>();
		long until = System.nanoTime() + (long) (seconds * 1e9);
		for (int i = 0; i < tasks && System.nanoTime() < until; i++) {
			long call = System.nanoTime();
			add("noop", payload(i, bytes, 0));
			long returned = System.nanoTime();
			long[] start = nextStart(starts);
			while (start[0] != i) {
				start = nextStart(starts);
			}
			fromCall.add(start[1] - call);
			fromReturn.add(start[1] - returned);
		}
		say("{\"from_call_ns\":" + fromCall + ",\"from_return_ns\":" + fromReturn + "}");
	}

	private void probe(int tasks) throws Exception {
		BufferedReader starts = openTrace();
		Set<Long> missing = new HashSet<>();
		List<String> data = new ArrayList<>();
		for (int i = 0; i < tasks; i++) {
			missing.add((long) i);
			data.add(payload(i, 256, 0));
		}
		long call = System.nanoTime();
		long last = call;
		addMany("noop", data, null);
		while (!missing.isEmpty()) {
			long[] start = nextStart(starts);
			if (missing.remove(start[0])) {
				last = Math.max(last, start[1]);
			}
		}
		say("{\"tasks\":" + tasks + ",\"call_ns\":" + call + ",\"last_start_ns\":"
				+ (last - call) + "}");
	}

	void command(String name, String... args) throws Exception {
		switch (name) {
			case "version" -> say("{\"version\":\"" + version() + "\"}");
			case "prepare" -> prepare();
			case "serve" -> serveUntilStopped();
			case "fill" -> {
				openProducer(1);
				fill(args[0], Integer.parseInt(args[1]), Integer.parseInt(args[2]),
						args.length > 3 && args[3].equals("later"));
			}
			case "enqueue" -> {
				openProducer(Integer.parseInt(args[0]));
				enqueue(Integer.parseInt(args[0]), Double.parseDouble(args[1]), Integer.parseInt(args[2]));
			}
			case "latency" -> {
				openProducer(1);
				latency(Integer.parseInt(args[0]), Double.parseDouble(args[1]), Integer.parseInt(args[2]));
			}
			case "probe" -> {
				openProducer(1);
				probe(Integer.parseInt(args[0]));
			}
			default -> throw new IllegalArgumentException("unknown command: " + name);
		}
	}

	static void run(Bench bench, String[] args) {
		try {
			bench.command(args[0], Arrays.copyOfRange(args, 1, args.length));
			System.out.flush();
			Runtime.getRuntime().halt(0);
		} catch (Exception error) {
			complain(error);
		}
	}
}
