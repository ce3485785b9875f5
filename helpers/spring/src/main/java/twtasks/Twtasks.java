package twtasks;

import com.fasterxml.jackson.databind.*;
import java.io.*;
import java.lang.annotation.*;
import java.lang.reflect.*;
import static java.nio.charset.StandardCharsets.UTF_8;
import java.util.*;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.ApplicationContext;
import org.springframework.core.MethodIntrospector;
import org.springframework.jdbc.core.JdbcOperations;

/** A bean that adds tasks in the caller's transaction, and runs methods with @TaskHandler under twtasksd. */
public class Twtasks implements SmartInitializingSingleton {
    /** Marks a method of a bean as the handler of a type.  Its parameter is a Task. */
    @Target(ElementType.METHOD) @Retention(RetentionPolicy.RUNTIME) public @interface TaskHandler { String value(); }

    public record Task(String id, long version, String type, String key, int tries, JsonNode data,
            byte[] payload_base64, JsonNode context) {}

    /** An answer of a handler that is not "done", such as Map.of("result", "retry", "retry_in", 60). */
    public static class Answer extends RuntimeException {
        final Map<String, ?> members;

        public Answer(Map<String, ?> members) { super(members.toString()); this.members = members; }
    }

    private record Handler(Object bean, Method method) {}
    private static final String END = new String("end"); // is told from each line by its identity
    private static final ObjectMapper json = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    private final Map<String, Handler> handlers = new HashMap<>();
    private final ApplicationContext beans;
    private final JdbcOperations database;
    private List<Task> collected; // in test mode: the tasks that were added
    private volatile boolean isEnding;

    public Twtasks(ApplicationContext beans, JdbcOperations database) { this.beans = beans; this.database = database; }

    /** Adds a task; options are those of twtasks.add_task().  Returns its id, or null in test mode. */
    public UUID add(String type, Object data, Map<String, ?> options) throws IOException {
        var given = new HashMap<String, Object>(options);
        given.replaceAll((name, value) -> value instanceof java.time.temporal.Temporal ? value.toString()
                : value instanceof byte[] bytes ? "\\x" + HexFormat.of().formatHex(bytes) : value);
        given.putAll(Map.of("type", type, "data", json.valueToTree(data)));
        String text = json.writeValueAsString(List.of(given));
        if (collected == null)
            return database.queryForObject("SELECT task_id FROM twtasks.add_tasks(?::text::jsonb)", UUID.class, text);
        collected.add(json.convertValue(given, Task.class));
        return null;
    }

    /** From now on add() stores no task, but adds it to the list that this returns; null ends that. */
    public List<Task> testing(List<Task> added) { return collected = added; }

    @Override public void afterSingletonsInstantiated() {
        MethodIntrospector.MetadataLookup<TaskHandler> mark = method -> method.getAnnotation(TaskHandler.class);
        for (String name : beans.getBeanDefinitionNames())
            MethodIntrospector.selectMethods(beans.getType(name), mark).forEach((method, handler) -> {
                Object bean = beans.getBean(name); // may be a proxy
                handlers.put(handler.value(), new Handler(bean, AopUtils.selectInvocableMethod(method, bean.getClass())));
            });
    }

    /** Calls the handler of a task, as a test does. */
    public void run(Task task) throws Throwable {
        Handler handler = handlers.get(task.type());
        if (handler == null) throw new IllegalStateException("no handler for type " + task.type());
        try { handler.method().invoke(handler.bean(), task); }
        catch (InvocationTargetException fault) { throw fault.getCause(); }
    }

    /** Runs one task after the other, until its input ends.  After TERM it ends the task that runs, and no other. */
    public void work() throws Exception {
        PrintStream replies = System.out;
        System.setOut(System.err); // what others print goes to the log
        var lines = new java.util.concurrent.LinkedBlockingQueue<String>();
        var stdin = java.nio.channels.Channels.newInputStream(new FileInputStream(FileDescriptor.in).getChannel());
        var input = new BufferedReader(new InputStreamReader(stdin, UTF_8)); // an interrupt ends its reads
        var reader = new Thread(() -> {
            try { input.lines().forEach(lines::add); } catch (UncheckedIOException interrupted) { isEnding = true; }
            lines.add(END); // after all lines that were read
        });
        sun.misc.Signal.handle(new sun.misc.Signal("TERM"), signal -> { isEnding = true; reader.interrupt(); });
        reader.setDaemon(true);
        reader.start();
        for (String line; (line = lines.take()) != END;) {
            Task task = json.readValue(line, Task.class);
            boolean begins = task.id() != null && !isEnding;
            if (begins) answer(replies, task, Map.of("started", true));
            if (task.id() != null) answer(replies, task, begins ? outcome(task) : Map.of("result", "release"));
        }
    }

    private Map<String, ?> outcome(Task task) {
        try {
            run(task);
            return Map.of("result", "done");
        } catch (Answer answer) { return answer.members; } catch (Throwable fault) {
            String where = String.join("\n", Arrays.stream(fault.getStackTrace()).limit(20).map(Object::toString).toList());
            return Map.of("result", "retry", "message", "%.1000s\n%.3000s".formatted(fault, where));
        }
    }

    private static void answer(PrintStream replies, Task task, Map<String, ?> members) throws IOException {
        var line = json.createObjectNode().put("id", task.id()).put("version", task.version());
        try { line.setAll(json.<com.fasterxml.jackson.databind.node.ObjectNode>valueToTree(members)); }
        catch (RuntimeException fault) { // the work is done: nothing may run it again
            line.put("result", "error").put("message", "the answer is no JSON: %.1000s".formatted(fault)); }
        replies.writeBytes((json.writeValueAsString(line) + "\n").getBytes(UTF_8));
        replies.flush();
    }
}
