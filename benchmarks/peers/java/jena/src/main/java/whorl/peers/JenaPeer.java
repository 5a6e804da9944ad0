package whorl.peers;

import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.jena.graph.Node;
import org.apache.jena.query.Query;
import org.apache.jena.query.QueryFactory;
import org.apache.jena.riot.out.NodeFmtLib;
import org.apache.jena.sparql.core.DatasetGraph;
import org.apache.jena.sparql.core.DatasetGraphFactory;
import org.apache.jena.sparql.core.Quad;
import org.apache.jena.sparql.core.Var;
import org.apache.jena.sparql.exec.QueryExec;
import org.apache.jena.sparql.exec.RowSet;
import org.apache.jena.sparql.engine.binding.Binding;
import org.apache.jena.sparql.util.NodeFactoryExtra;

/**
 * Jena: the windows are named graphs of a dataset in memory, and ARQ evaluates the whole query whenever one changes.
 *
 * The dataset is the general one, without transactions, which costs less than the transactional one. The query is parsed
 * once; terms are made before the clock starts. Before it, the query is asked of the full windows for a second, so that the
 * compiler has seen it.
 */
public final class JenaPeer {
  private static final long WARM_UP_NS = 1_000_000_000L;

  private record Written(long at, boolean isEvent, List<Quad> went, List<Quad> came) {}

  private final DatasetGraph windows = DatasetGraphFactory.create();
  private final Map<String, Node> terms = new HashMap<>();
  private final Query query;
  private final List<Var> shown;
  private Set<List<Node>> last = new HashSet<>();
  private final List<String> lines = new ArrayList<>();
  private long results;

  private JenaPeer(Query query) {
    this.query = query;
    this.shown = query.getProjectVars();
  }

  private Node term(String text) {
    return terms.computeIfAbsent(text, NodeFactoryExtra::parseNode);
  }

  private Written written(Case.Change change) {
    List<Quad> went = new ArrayList<>();
    List<Quad> came = new ArrayList<>();
    for (Case.Placed one : change.placed()) {
      Node window = term("<" + one.name() + ">");
      Quad quad = new Quad(window, term(one.subject()), term(one.predicate()), term(one.object()));
      (one.isComing() ? came : went).add(quad);
    }
    return new Written(change.at(), change.isEvent(), went, came);
  }

  private void apply(Written change) {
    change.went().forEach(windows::delete);
    change.came().forEach(windows::add);
  }

  private Set<List<Node>> asked() {
    Set<List<Node>> rows = new HashSet<>();
    try (QueryExec execution = QueryExec.dataset(windows).query(query).build()) {
      RowSet found = execution.select();
      while (found.hasNext()) {
        Binding row = found.next();
        rows.add(shown.stream().map(row::get).toList());
      }
    }
    return rows;
  }

  private void evaluate(Written change, boolean isAnswering) {
    apply(change);
    if (change.went().isEmpty() && change.came().isEmpty()) {
      return;
    }
    Set<List<Node>> rows = asked();
    for (List<Node> row : rows) {
      if (!last.contains(row)) {
        results++;
        if (isAnswering) {
          lines.add(change.at() + "\t" + String.join("\t", row.stream().map(NodeFmtLib::strNT).toList()));
        }
      }
    }
    last = rows;
  }

  public static void main(String[] words) throws Exception {
    Case given = new Case(words);
    JenaPeer peer = new JenaPeer(QueryFactory.create(given.query()));
    long before = Case.heapBytes();
    given.filling.stream().map(peer::written).forEach(peer::apply);
    List<Written> measured = given.measured.stream().map(peer::written).toList();
    boolean isAnswering = given.words.containsKey("answers");
    long begun = System.nanoTime();
    while (!isAnswering && System.nanoTime() - begun < WARM_UP_NS) {
      peer.last = peer.asked();
    }
    long bytes = Math.max(Case.heapBytes() - before, 0);
    long events = 0;
    long wall = System.nanoTime();
    long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    for (Written change : measured) {
      peer.evaluate(change, isAnswering);
      events += change.isEvent() ? 1 : 0;
      if (ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu > given.limitNs()) {
        break;
      }
    }
    cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
    wall = System.nanoTime() - wall;
    given.answer(peer.lines);
    Case.say(events, cpu, wall, peer.results, bytes);
  }
}
