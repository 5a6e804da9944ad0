package whorl.peers;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** A case as benchmarks/whorl_bench/contestants/outside.py writes it, and what a peer says of it. */
final class Case {
  /** A triple that comes or goes, in a window or on a stream; terms as N-Triples. */
  record Placed(boolean isComing, String name, String subject, String predicate, String object) {}

  /** What one instant changes. */
  record Change(long at, boolean isEvent, List<Placed> placed) {}

  final Map<String, String> words = new HashMap<>();
  final List<Change> filling = new ArrayList<>();
  final List<Change> measured = new ArrayList<>();

  Case(String[] arguments) throws IOException {
    for (String word : arguments) {
      int at = word.indexOf('=');
      if (at > 0) {
        words.put(word.substring(0, at), word.substring(at + 1));
      }
    }
    List<Change> changes = filling;
    for (String line : Files.readAllLines(Path.of(words.get("file")))) {
      String[] parts = line.split("\t");
      switch (parts[0]) {
        case "=" -> changes = measured;
        case "@" -> changes.add(new Change(Long.parseLong(parts[1]), parts[2].equals("1"), new ArrayList<>()));
        default ->
            changes
                .get(changes.size() - 1)
                .placed()
                .add(new Placed(parts[0].equals("+"), parts[1], parts[2], parts[3], parts[4]));
      }
    }
    // A check measures everything.
    if (measured.isEmpty()) {
      measured.addAll(filling);
      filling.clear();
    }
  }

  String query() throws IOException {
    return Files.readString(Path.of(words.get("query")));
  }

  long limitNs() {
    return (long) (Double.parseDouble(words.get("limit_s")) * 1e9);
  }

  /** A line for each solution, if they are asked for. */
  void answer(List<String> lines) throws IOException {
    if (words.containsKey("answers")) {
      Files.write(Path.of(words.get("answers")), lines);
    }
  }

  static long heapBytes() {
    System.gc();
    Runtime memory = Runtime.getRuntime();
    return memory.totalMemory() - memory.freeMemory();
  }

  static void say(long events, long cpuNs, long wallNs, long results, long bytes) {
    PrintWriter out = new PrintWriter(System.out, true);
    out.printf(
        "{\"events\": %d, \"cpu_ns\": %d, \"wall_ns\": %d, \"results\": %d, \"rss_bytes\": %d}%n",
        events, cpuNs, wallNs, results, bytes);
  }
}
