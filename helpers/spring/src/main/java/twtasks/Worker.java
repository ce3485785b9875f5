package twtasks;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.channels.Channels;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Supplier;
import org.springframework.context.ApplicationContext;
import sun.misc.Signal;
import twtasks.Twtasks.Answer;
import twtasks.Twtasks.Task;

/** Runs tasks under twtasksd: Worker.work(() -> SpringApplication.run(Shop.class)) is the main() of a worker. */
public class Worker {
    private static final String END = new String("end"); // is told from each line by its identity
    private final OutputStream answers;
    private volatile boolean isEnding;

    private Worker(OutputStream answers) { this.answers = answers; }

    /** Makes the application, then runs one task after the other, until the input ends, or after TERM the task has ended. */
    public static void work(Supplier<? extends ApplicationContext> application) throws Exception {
        OutputStream answers = new FileOutputStream("/proc/self/fd/1");
        System.setOut(System.err); // what others print goes to the log
        new FileOutputStream(FileDescriptor.out).close(); // what children print goes to /dev/null
        new Worker(answers).run(application.get().getBean(Twtasks.class));
    }

    private void run(Twtasks tasks) throws Exception {
        var lines = new LinkedBlockingQueue<String>();
        var stdin = Channels.newInputStream(new FileInputStream(FileDescriptor.in).getChannel());
        var input = new BufferedReader(new InputStreamReader(stdin, UTF_8)); // an interrupt ends its reads
        var reader = new Thread(() -> {
            try {
                input.lines().forEach(lines::add);
            } catch (UncheckedIOException interrupted) {
                isEnding = true;
            }
            lines.add(END); // after all lines that were read
        });
        Signal.handle(new Signal("TERM"), signal -> {
            isEnding = true;
            reader.interrupt();
        });
        reader.setDaemon(true);
        reader.start();
        for (String line; (line = lines.take()) != END;) {
            Task task = Twtasks.json.readValue(line, Task.class);
            if (task.id() != null && isEnding) answer(task, Map.of("result", "release", "retry_in", 1));
            else if (task.id() != null) {
                answer(task, Map.of("started", true));
                answer(task, outcome(tasks, task));
            }
        }
    }

    private static Map<String, ?> outcome(Twtasks tasks, Task task) {
        try {
            tasks.run(task);
            return Map.of("result", "done");
        } catch (Answer answer) {
            return answer.members;
        } catch (Throwable fault) {
            String where = String.join("\n", Arrays.stream(fault.getStackTrace()).limit(20).map(Object::toString).toList());
            return Map.of("result", "retry", "message", "%.1000s\n%.3000s".formatted(fault, where));
        }
    }

    private void answer(Task task, Map<String, ?> members) throws IOException {
        ObjectNode line = Twtasks.json.createObjectNode().put("id", task.id()).put("version", task.version());
        try {
            line.setAll(Twtasks.json.<ObjectNode>valueToTree(members));
        } catch (RuntimeException fault) { // the work is done: nothing may run it again
            line.put("result", "error").put("message", "the answer is no JSON: %.1000s".formatted(fault));
        }
        answers.write((Twtasks.json.writeValueAsString(line) + "\n").getBytes(UTF_8));
    }
}
