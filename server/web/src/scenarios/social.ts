/** Eight friends post, like, take photos of each other and move about. */
import { between, HOUR, pick, type Sample } from "./sample";

const PREFIXES = `PREFIX : <http://example.org/lsbench/> PREFIX dbpprop: <http://dbpedia.org/property/> PREFIX foaf: <http://xmlns.com/foaf/0.1/>
PREFIX sib: <http://www.ins.cwi.nl/sib/vocabulary/> PREFIX sibu: <http://www.ins.cwi.nl/sib/user/> PREFIX sioc: <http://rdfs.org/sioc/ns#>`;
const USERS = ["u280", "u1", "u2", "u3", "u4", "u5", "u6", "u7"];
const NAMES = [["Ana", "Silva"], ["Xun", "Wang"], ["Shreyas", "Reddy"], ["Mia", "Berg"], ["Jo", "Park"], ["Liv", "Dahl"], ["Tom", "Ward"], ["Ida", "Kern"]] as const;
const TAGS = ["Adam", "rain", "concert", "cake"];
const STREAM = "http://example.org/lsbench/";

const network = USERS.map((user, at) => {
  const [first, last] = NAMES[at] ?? ["", ""];
  const friends = [1, 2, 3].map((step) => `sibu:${USERS[(at + step) % USERS.length]}`).join(", ");
  return `:person${at} foaf:firstName "${first}" ; foaf:lastName "${last}" . sibu:${user} sioc:account_of :person${at} ; foaf:knows ${friends} ; sioc:subscriber_of :channel${at % 2} .`;
}).join("\n");

export const social: Sample = {
  graphs: { "http://example.org/lsbench/network": `${PREFIXES}\n${network}` },
  spanMs: HOUR,
  at: (step, t, random) => {
    const user = (): string => `sibu:${pick(USERS, random)}`;
    const [post, photo] = [`:post${t}`, `:photo${t}`];
    // Likes are those of what came a moment ago, while windows still hold it.
    const back = (name: string): string => `:${name}${t - 30_000 * Math.floor(between(0, 3, random))}`;
    const place = `dbpprop:latd ${between(50, 53, random).toFixed(2)} ; dbpprop:longd ${between(4, 7, random).toFixed(2)}`;
    const say = (stream: string, turtle: string): { stream: string; turtle: string } => ({ stream: STREAM + stream, turtle: `${PREFIXES} ${turtle}` });
    return [
      say("posts", `${user()} sioc:creator_of ${post} . ${post} a sib:Post ; sioc:content "Note ${step}" ; sib:hashtag "${pick(TAGS, random)}" . :channel${step % 2} sioc:container_of ${post} .`),
      say("photos", `${user()} sioc:creator_of ${photo} . ${photo} a sib:Photo ; sib:usertag ${user()} ; ${place} .`),
      say("postLikes", `${user()} sib:like ${back("post")} .`),
      say("photoLikes", `${user()} sib:like ${back("photo")} .`),
      say("positions", `${user()} sib:trackedAt :fix${t} . :fix${t} ${place} .`),
    ];
  },
};
