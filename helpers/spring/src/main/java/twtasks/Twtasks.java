package twtasks;

import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.time.temporal.Temporal;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.springframework.aop.support.AopUtils;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.context.ApplicationContext;
import org.springframework.core.MethodIntrospector;
import org.springframework.jdbc.core.JdbcOperations;

/** A bean that adds tasks in the caller's transaction, and knows the methods with @TaskHandler. */
public class Twtasks implements SmartInitializingSingleton {
    /** Marks a method of a bean as the handler of a type.  Its parameter is a Task. */
    @Target(ElementType.METHOD)
    @Retention(RetentionPolicy.RUNTIME)
    public @interface TaskHandler { String value(); }

    public record Task(String id, long version, String type, String key, int tries, JsonNode data,
            byte[] payload_base64, JsonNode context) {}

    /** An answer of a handler that is not "done", such as Map.of("result", "retry", "retry_in", 60). */
    public static class Answer extends RuntimeException {
        final Map<String, ?> members;

        public Answer(Map<String, ?> members) {
            super(members.toString());
            this.members = members;
        }
    }

    private record Handler(Object bean, Method method) {}

    static final ObjectMapper json = new ObjectMapper().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES);
    private final Map<String, Handler> handlers = new HashMap<>();
    private final ApplicationContext beans;
    private final JdbcOperations database;
    private List<Task> collected; // in test mode: the tasks that were added

    public Twtasks(ApplicationContext beans, JdbcOperations database) {
        this.beans = beans;
        this.database = database;
    }

    /** Adds a task; options are those of twtasks.add_task().  Returns its id, or null in test mode. */
    public UUID add(String type, Object data, Map<String, ?> options) throws IOException {
        var given = new HashMap<String, Object>(options);
        given.replaceAll((name, value) -> value instanceof Temporal ? value.toString()
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

    @Override
    public void afterSingletonsInstantiated() {
        MethodIntrospector.MetadataLookup<TaskHandler> mark = method -> method.getAnnotation(TaskHandler.class);
        for (String name : beans.getBeanDefinitionNames()) {
            Class<?> type = beans.getType(name);
            if (type == null) continue; // the product of a factory, not made yet
            MethodIntrospector.selectMethods(type, mark).forEach((method, handler) -> {
                Object bean = beans.getBean(name); // may be a proxy
                handlers.put(handler.value(), new Handler(bean, AopUtils.selectInvocableMethod(method, bean.getClass())));
            });
        }
    }

    /** Calls the handler of a task, as a test does. */
    public void run(Task task) throws Throwable {
        Handler handler = handlers.get(task.type());
        if (handler == null) throw new IllegalStateException("no handler for type " + task.type());
        try {
            handler.method().invoke(handler.bean(), task);
        } catch (InvocationTargetException fault) {
            throw fault.getCause();
        }
    }
}
