"""A social network in the format of LSBench: posts, photos, likes, and positions of users.

The streams and the vocabulary are those of the queries in examples/lsbench. Recorded streams are files of the
benchmark's generator, which hold RDF already: see `social_files`.
"""

from __future__ import annotations

from whorl.spark.generators import social as generated
from whorl.spark.jobs import social_files as files
from whorl.spark.jobs.job import Job, Output, always, submitted

STREAMS = "http://example.org/lsbench/"
SIB = "http://www.ins.cwi.nl/sib/"
_PREFIXES = f"""PREFIX sib: <{SIB}vocabulary/>
PREFIX sioc: <http://rdfs.org/sioc/ns#>
PREFIX sioct: <http://rdfs.org/sioc/type#>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX dbpo: <http://dbpedia.org/ontology/>
PREFIX dbpprop: <http://dbpedia.org/property/>
PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
"""


def _iri(column: str, folder: str, name: str) -> str:
    return f'  BIND(IRI(CONCAT("{SIB}{folder}/", ?{column})) AS ?{name})\n'


POSTS = f"""{_PREFIXES}CONSTRUCT {{
  ?thePost a sib:Post, sioc:Post ; dc:created ?when ; sib:browser ?browser ; sioc:content ?content ;
           sib:hashtag ?tag, ?second_tag .
  ?theForum sioc:container_of ?thePost .
  ?theUser sioc:creator_of ?thePost .
}}
WHERE {{
{_iri("post", "post", "thePost")}{_iri("forum", "forum", "theForum")}{_iri("user", "user", "theUser")}\
  BIND(STRDT(?created, xsd:dateTime) AS ?when)
}}
"""
PHOTOS = f"""{_PREFIXES}CONSTRUCT {{
  ?thePhoto a sib:Photo, sioc:Item ; dc:created ?when ; sib:browser ?browser ; dbpo:location ?place ;
            dbpprop:latd ?latitude ; dbpprop:longd ?longitude ; sib:usertag ?theTagged .
  ?theAlbum a sioct:ImageGallery ; sioc:container_of ?thePhoto .
  ?theUser sioc:creator_of ?theAlbum .
}}
WHERE {{
{_iri("photo", "photoalbum/photo", "thePhoto")}{_iri("album", "photoalbum", "theAlbum")}\
{_iri("user", "user", "theUser")}{_iri("tagged", "user", "theTagged")}  BIND(STRDT(?created, xsd:dateTime) AS ?when)
}}
"""
POSITIONS = f"""{_PREFIXES}CONSTRUCT {{
  ?theUser sib:trackedAt ?theFix .
  ?theFix dbpprop:latd ?latitude ; dbpprop:longd ?longitude ; sib:trackedTime ?when ; sib:trackedLocation ?place .
}}
WHERE {{
{_iri("user", "user", "theUser")}{_iri("fix", "gps", "theFix")}  BIND(STRDT(?tracked, xsd:dateTime) AS ?when)
}}
"""


def likes(folder: str) -> str:
    """Likes: a user and an item."""
    return f"""{_PREFIXES}CONSTRUCT {{ ?theUser sib:like ?theLiked }}
WHERE {{
{_iri("user", "user", "theUser")}{_iri("liked", folder, "theLiked")}}}
"""


JOB = Job(
    name="social",
    description="a social network: posts, photos, likes and positions, as LSBench has them",
    data="the streams of LSBench's generator: rdfPostStream*.ttl, rdfPostLikeStream*.ttl, rdfPhotoStream*.ttl, …",
    outputs=always(
        Output("posts", f"{STREAMS}posts", POSTS, generated.POST_GENERATOR, files.things("rdfPostStream")),
        Output(
            "post-likes",
            f"{STREAMS}postLikes",
            likes("post"),
            generated.POST_LIKE_GENERATOR,
            files.likes("rdfPostLikeStream", "rdfPostStream"),
        ),
        Output("photos", f"{STREAMS}photos", PHOTOS, generated.PHOTO_GENERATOR, files.things("rdfPhotoStream")),
        Output(
            "photo-likes",
            f"{STREAMS}photoLikes",
            likes("photoalbum/photo"),
            generated.PHOTO_LIKE_GENERATOR,
            files.likes("rdfPhotoLikeStream", "rdfPhotoStream"),
        ),
        Output("positions", f"{STREAMS}positions", POSITIONS, generated.POSITION_GENERATOR, files.things("gpsStream")),
    ),
)

if __name__ == "__main__":
    submitted(JOB.name)
