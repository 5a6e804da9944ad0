package whorl.peers;

import com.espertech.esper.common.client.EPCompiled;
import com.espertech.esper.common.client.EventBean;
import com.espertech.esper.common.client.configuration.Configuration;
import com.espertech.esper.compiler.client.CompilerArguments;
import com.espertech.esper.compiler.client.EPCompilerProvider;
import com.espertech.esper.runtime.client.EPEventService;
import com.espertech.esper.runtime.client.EPRuntime;
import com.espertech.esper.runtime.client.EPRuntimeProvider;
import com.espertech.esper.runtime.client.EPStatement;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The joins and aggregates of the papers in Esper, over the events of engine-rs/benches/papers.
 *
 * Events are object arrays, Esper's leanest form; time is external; the internal timer and metrics are off. The first
 * part of the events fills the windows and warms up the compiler.
 *
 * Esper reports a group whenever one of its events comes or goes. Only rows whose value differs from the last one of their
 * group are counted, which is what the other programs report.
 */
public final class EsperPeer {
  /** Values of averages and minima. */
  private static final int VALUES = 1_000;

  /** xorshift, as all programs draw. */
  private static final class Draws {
    private long state = 42;

    int below(int end) {
      state ^= state << 13;
      state ^= state >>> 7;
      state ^= state << 17;
      return (int) Long.remainderUnsigned(state >>> 20, end);
    }
  }

  private static final class Tally {
    long results;
    long sum;

    void add(long... row) {
      results++;
      for (int n = 0; n < row.length; n++) {
        sum += (3L + 2 * n) * row[n];
      }
    }
  }

  private final Map<String, String> arguments;
  private final String mode;
  private final int streams;
  private final Tally tally = new Tally();
  /** The last value of each group that was reported. */
  private final Map<Integer, Long> last = new HashMap<>();

  private EsperPeer(Map<String, String> arguments) {
    this.arguments = arguments;
    this.mode = arguments.get("mode");
    this.streams = mode.equals("join") ? number("ways", 3) : mode.equals("avg") ? 1 : 2;
  }

  private int number(String key, int otherwise) {
    return Integer.parseInt(arguments.getOrDefault(key, String.valueOf(otherwise)));
  }

  private String query(int width) {
    switch (mode) {
      case "avg":
        return "select s as g, avg(o) as v from S0#length(" + width + ") group by s";
      case "min":
        return "select t0.s as g, min(t1.o) as v from " + joined(width) + " group by t0.s";
      case "distinct":
        return "select t0.s as g, count(*) as v from " + joined(width) + " group by t0.s";
      case "join":
        return "select t0.s as v0, " + list(n -> "t" + n + ".o as v" + (n + 1), 0, ", ") + " from " + joined(width);
      default:
        throw new IllegalArgumentException("there is no mode " + mode);
    }
  }

  private String joined(int width) {
    String from = list(n -> "S" + n + "#length(" + width + ") as t" + n, 0, ", ");
    return from + " where " + list(n -> "t" + (n - 1) + ".o = t" + n + ".s", 1, " and ");
  }

  private String list(IntFunction<String> part, int first, String between) {
    return IntStream.range(first, streams).mapToObj(part).collect(Collectors.joining(between));
  }

  private EPRuntime started(int width) throws Exception {
    Configuration configuration = new Configuration();
    for (int n = 0; n < streams; n++) {
      configuration.getCommon().addEventType("S" + n, new String[] {"s", "o"}, new Object[] {Integer.class, Integer.class});
    }
    configuration.getRuntime().getThreading().setInternalTimerEnabled(false);
    configuration.getRuntime().getThreading().setListenerDispatchPreserveOrder(false);
    EPCompiled compiled = EPCompilerProvider.getCompiler().compile(query(width), new CompilerArguments(configuration));
    EPRuntime runtime = EPRuntimeProvider.getRuntime("peer", configuration);
    EPStatement statement = runtime.getDeploymentService().deploy(compiled).getStatements()[0];
    statement.addListener((arrived, gone, which, where) -> count(arrived));
    return runtime;
  }

  private void count(EventBean[] arrived) {
    if (arrived == null) {
      return;
    }
    for (EventBean row : arrived) {
      if (mode.equals("join")) {
        long[] values = new long[streams + 1];
        for (int n = 0; n <= streams; n++) {
          values[n] = (Integer) row.get("v" + n);
        }
        tally.add(values);
      } else {
        group((Integer) row.get("g"), (Number) row.get("v"));
      }
    }
  }

  /** A group without a value, or with a count of nothing, is gone. */
  private void group(int group, Number value) {
    if (value == null || mode.equals("distinct") && value.longValue() == 0) {
      last.remove(group);
      return;
    }
    switch (mode) {
      case "avg":
        long bits = Double.doubleToLongBits(value.doubleValue());
        if (!Long.valueOf(bits).equals(last.put(group, bits))) {
          // Thousandths, rounded down.
          tally.add(group, (long) Math.floor(value.doubleValue() * 1_000 + 1e-6));
        }
        break;
      case "min":
        if (!Long.valueOf(value.longValue()).equals(last.put(group, value.longValue()))) {
          tally.add(group, value.longValue());
        }
        break;
      default:
        if (last.put(group, 1L) == null) {
          tally.add(group);
        }
    }
  }

  private void run() throws Exception {
    int width = number("width", 10_000);
    int keys = number("keys", width);
    int events = number("events", 100_000);
    EPRuntime runtime = started(width);
    EPEventService service = runtime.getEventService();
    List<String> names = new ArrayList<>();
    IntStream.range(0, streams).forEach(n -> names.add("S" + n));
    Draws draws = new Draws();
    send(service, names, draws, keys, streams * width);
    tally.results = 0;
    tally.sum = 0;
    Runtime memory = Runtime.getRuntime();
    System.gc();
    long bytes = memory.totalMemory() - memory.freeMemory();
    long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    long wall = System.nanoTime();
    send(service, names, draws, keys, events);
    cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
    wall = System.nanoTime() - wall;
    System.out.printf(
        "{\"events\": %d, \"cpu_ns\": %d, \"wall_ns\": %d, \"results\": %d, \"rss_bytes\": %d, \"checksum\": \"%d:%s\"}%n",
        events, cpu, wall, tally.results, bytes, tally.results, Long.toUnsignedString(tally.sum));
    System.exit(0);
  }

  /** Keys join; the other ends of a chain of two, and what is averaged, are values. */
  private void send(EPEventService service, List<String> names, Draws draws, int keys, int count) {
    boolean isOverJoin = mode.equals("min") || mode.equals("distinct");
    for (int at = 0; at < count; at++) {
      int stream = at % streams;
      int subject = draws.below(isOverJoin && stream == 0 ? VALUES : keys);
      int object = draws.below(mode.equals("avg") || isOverJoin && stream == 1 ? VALUES : keys);
      service.sendEventObjectArray(new Object[] {subject, object}, names.get(stream));
    }
  }

  public static void main(String[] words) throws Exception {
    Map<String, String> arguments = new HashMap<>();
    for (String word : words) {
      int at = word.indexOf('=');
      if (at > 0) {
        arguments.put(word.substring(0, at), word.substring(at + 1));
      }
    }
    new EsperPeer(arguments).run();
  }
}
