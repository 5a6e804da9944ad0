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
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/**
 * The joins and averages of the papers in Esper, over the events of engine-rs/benches/papers.rs.
 *
 * Events are object arrays, Esper's leanest form; time is external; the internal timer and metrics are off. The first
 * part of the events fills the windows and warms up the compiler; `repeat` streams that part again before measuring.
 */
public final class EsperPeer {
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
  }

  private final Map<String, String> arguments;
  private final int streams;
  private final Tally tally = new Tally();
  private final boolean isJoin;

  private EsperPeer(Map<String, String> arguments) {
    this.arguments = arguments;
    this.isJoin = arguments.get("mode").equals("join");
    this.streams = isJoin ? number("ways", 3) : 1;
  }

  private int number(String key, int otherwise) {
    return Integer.parseInt(arguments.getOrDefault(key, String.valueOf(otherwise)));
  }

  private String query(int width) {
    if (!isJoin) {
      return "select s, avg(o) as mean from S0#length(" + width + ") group by s";
    }
    String head = "t0.s as v0, " + list(n -> "t" + n + ".o as v" + (n + 1), 0, ", ");
    String from = list(n -> "S" + n + "#length(" + width + ") as t" + n, 0, ", ");
    String where = list(n -> "t" + (n - 1) + ".o = t" + n + ".s", 1, " and ");
    return "select " + head + " from " + from + " where " + where;
  }

  private String list(java.util.function.IntFunction<String> part, int first, String between) {
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
      tally.results++;
      for (int n = 0; isJoin && n <= streams; n++) {
        tally.sum += (3L + 2 * n) * (Integer) row.get("v" + n);
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
    String checksum = isJoin ? tally.results + ":" + Long.toUnsignedString(tally.sum) : "";
    System.out.printf(
        "{\"events\": %d, \"cpu_ns\": %d, \"wall_ns\": %d, \"results\": %d, \"rss_bytes\": %d, \"checksum\": \"%s\"}%n",
        events, cpu, wall, tally.results, bytes, checksum);
    System.exit(0);
  }

  private void send(EPEventService service, List<String> names, Draws draws, int keys, int count) {
    for (int at = 0; at < count; at++) {
      int subject = draws.below(keys);
      int object = draws.below(isJoin ? keys : 1_000);
      service.sendEventObjectArray(new Object[] {subject, object}, names.get(at % streams));
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
