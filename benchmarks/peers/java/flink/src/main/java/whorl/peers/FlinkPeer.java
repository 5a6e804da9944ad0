package whorl.peers;

import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.types.Row;
import org.apache.flink.types.RowKind;
import org.apache.flink.util.CloseableIterator;

/**
 * Flink: a chain of patterns in one hopping window, as window joins in SQL over integers for terms.
 *
 * One task slot and one thread for each operator; event time, with a watermark behind each event; state on the heap; no
 * checkpoints; results at the close of a window. Duplicates within a window are dropped, as RDF has sets. Starting the local
 * cluster and planning are not counted: the clock starts with the first event that the source hands out.
 */
public final class FlinkPeer {
  private static final Pattern WINDOW = Pattern.compile("\\[RANGE PT([0-9.]+)S STEP PT([0-9.]+)S\\]");
  private static long wall;
  private static long cpu;

  private final Map<String, Integer> ids = new HashMap<>();
  private final List<String> texts = new ArrayList<>();

  private int id(String text) {
    return ids.computeIfAbsent(
        text,
        fresh -> {
          texts.add(fresh);
          return texts.size() - 1;
        });
  }

  private static long processNs() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
  }

  private static Row started(Row row) {
    if (wall == 0) {
      wall = System.nanoTime();
      cpu = processNs();
    }
    return row;
  }

  private List<Row> rows(Case given, int ways) {
    List<Row> rows = new ArrayList<>();
    for (List<Case.Change> part : List.of(given.filling, given.measured)) {
      for (Case.Change change : part) {
        for (Case.Placed one : change.placed()) {
          // :pN is the pattern N of the chain; what else comes moves the time on.
          String predicate = one.predicate();
          int digit = predicate.charAt(predicate.length() - 2) - '0';
          int place = digit >= 0 && digit < ways ? digit : -1;
          rows.add(Row.of(Instant.ofEpochMilli(change.at()), place, id(one.subject()), id(one.object())));
        }
      }
    }
    return rows;
  }

  private static String sql(int ways, String range, String step) {
    StringBuilder text = new StringBuilder("SELECT w0.window_end AS e, w0.s AS v0");
    for (int n = 0; n < ways; n++) {
      text.append(", w").append(n).append(".o AS v").append(n + 1);
    }
    for (int n = 0; n < ways; n++) {
      String hop =
          "(SELECT window_start, window_end, s, o FROM TABLE(HOP(TABLE P"
              + n
              + ", DESCRIPTOR(t), INTERVAL '"
              + step
              + "' SECOND, INTERVAL '"
              + range
              + "' SECOND)) GROUP BY window_start, window_end, s, o) w"
              + n;
      text.append(n == 0 ? " FROM " : " JOIN ").append(hop);
      if (n > 0) {
        String on = " ON w%2$d.window_start = w%1$d.window_start AND w%2$d.window_end = w%1$d.window_end AND w%1$d.o = w%2$d.s";
        text.append(String.format(on, n - 1, n));
      }
    }
    return text.toString();
  }

  public static void main(String[] words) throws Exception {
    // The threads of the local cluster would keep a program alive that has failed.
    Thread.currentThread()
        .setUncaughtExceptionHandler(
            (thread, error) -> {
              error.printStackTrace();
              System.exit(1);
            });
    Case given = new Case(words);
    String query = given.query();
    Matcher window = WINDOW.matcher(query);
    if (!window.find()) {
      throw new IllegalArgumentException("the adapter takes one window with RANGE and STEP in seconds");
    }
    int ways = query.substring(query.indexOf("WHERE")).split(":p[0-9]").length - 1;
    FlinkPeer peer = new FlinkPeer();
    List<Row> rows = peer.rows(given, ways);
    Configuration settings = new Configuration();
    settings.setString("execution.runtime-mode", "STREAMING");
    settings.setString("taskmanager.numberOfTaskSlots", "1");
    StreamExecutionEnvironment environment = StreamExecutionEnvironment.createLocalEnvironment(1, settings);
    environment.getConfig().enableObjectReuse();
    environment.getConfig().setAutoWatermarkInterval(0);
    StreamTableEnvironment tables = StreamTableEnvironment.create(environment);
    DataStream<Row> events =
        environment
            .fromData(Types.ROW_NAMED(new String[] {"t", "place", "s", "o"}, Types.INSTANT, Types.INT, Types.INT, Types.INT), rows.toArray(new Row[0]))
            .map(FlinkPeer::started)
            .returns(Types.ROW_NAMED(new String[] {"t", "place", "s", "o"}, Types.INSTANT, Types.INT, Types.INT, Types.INT))
            .assignTimestampsAndWatermarks(
                WatermarkStrategy.<Row>forGenerator(context -> new EachEvent())
                    .withTimestampAssigner((row, before) -> ((Instant) row.getField(0)).toEpochMilli()));
    Schema schema =
        Schema.newBuilder()
            .column("t", "TIMESTAMP_LTZ(3)")
            .column("place", "INT")
            .column("s", "INT")
            .column("o", "INT")
            .watermark("t", "SOURCE_WATERMARK()")
            .build();
    tables.createTemporaryView("Events", events, schema);
    for (int n = 0; n < ways; n++) {
      tables.createTemporaryView("P" + n, tables.sqlQuery("SELECT t, s, o FROM Events WHERE place = " + n));
    }
    long end = given.measured.get(given.measured.size() - 1).at();
    List<String> lines = new ArrayList<>();
    long results = 0;
    try (CloseableIterator<Row> found = tables.sqlQuery(sql(ways, window.group(1), window.group(2))).execute().collect()) {
      while (found.hasNext()) {
        Row row = found.next();
        long at = closed(row.getField(0));
        // The end of the stream closes every window; those that events have closed are answers.
        if (row.getKind() == RowKind.INSERT && at <= end) {
          results++;
          lines.add(peer.line(at, row));
        }
      }
    }
    cpu = processNs() - cpu;
    wall = System.nanoTime() - wall;
    given.answer(lines);
    long measured = given.filling.size() + given.measured.size();
    Case.say(measured, cpu, wall, results, 0);
    System.exit(0);
  }

  private static long closed(Object end) {
    return ((java.time.LocalDateTime) end).toInstant(java.time.ZoneOffset.UTC).toEpochMilli();
  }

  private String line(long at, Row row) {
    StringBuilder line = new StringBuilder().append(at);
    for (int n = 1; n < row.getArity(); n++) {
      line.append('\t').append(texts.get((Integer) row.getField(n)));
    }
    return line.toString();
  }

  /** Time goes on with every event. */
  private static final class EachEvent implements org.apache.flink.api.common.eventtime.WatermarkGenerator<Row> {
    @Override
    public void onEvent(Row row, long at, org.apache.flink.api.common.eventtime.WatermarkOutput output) {
      output.emitWatermark(new org.apache.flink.api.common.eventtime.Watermark(at - 1));
    }

    @Override
    public void onPeriodicEmit(org.apache.flink.api.common.eventtime.WatermarkOutput output) {}
  }
}
