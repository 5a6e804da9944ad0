// What a search finds first: guides and the reference before records of decisions, which mention everything.
var Scorer = {
  score: ([docname, , , , score]) => {
    const part = docname.split("/")[0];
    const weights = { decisions: -40, project: -20, explanation: 1, reference: 4, "how-to": 4, tutorial: 6, semantics: 5 };
    return score + (weights[part] ?? 0);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
