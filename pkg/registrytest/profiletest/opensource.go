package profiletest

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// The media types of Docker.
const (
	dockerManifest = "application/vnd.docker.distribution.manifest.v2+json"
	dockerList     = "application/vnd.docker.distribution.manifest.list.v2+json"
)

// onlyManifests refuses what is no manifest or index of Docker or OCI.
func onlyManifests(no refusal) func(*rules) {
	known := []string{ocispec.MediaTypeImageManifest, ocispec.MediaTypeImageIndex, dockerManifest, dockerList}
	return pushes(func(_ *repository, p push) *refusal {
		if slices.Contains(known, p.contentType) {
			return nil
		}
		return &no
	})
}

// locked refuses to move a tag that begins with Locked.
func locked(no func(r *repository, tag string) refusal) func(*rules) {
	return pushes(func(r *repository, p push) *refusal {
		if p.before == "" || p.before == p.digest || !strings.HasPrefix(p.tag, Locked) {
			return nil
		}
		because := no(r, p.tag)
		return &because
	})
}

func pushes(check func(*repository, push) *refusal) func(*rules) {
	return func(s *rules) { s.onPush = append(s.onPush, check) }
}

func deletes(check func(r *repository, d digest.Digest, name string, isTag bool) *refusal) func(*rules) {
	return func(s *rules) { s.onDelete = append(s.onDelete, check) }
}

func requests(check func(*Server, call) *refusal) func(*rules) {
	return func(s *rules) { s.before = append(s.before, check) }
}

// overQuota refuses what begins an upload, or ends one, if the quota is used up.
func overQuota(method string, no refusal) func(*rules) {
	return requests(func(s *Server, c call) *refusal {
		if s.full && c.kind == "uploads" && c.r.Method == method {
			return &no
		}
		return nil
	})
}

// deletesNothing refuses every deletion of a manifest.
func deletesNothing(no refusal) func(*rules) {
	return requests(func(_ *Server, c call) *refusal {
		if c.kind == "manifests" && c.r.Method == http.MethodDelete {
			return &no
		}
		return nil
	})
}

// noReferrers is a registry that knows nothing of subjects.
func noReferrers(s *rules) {
	s.noSubject, s.noReferrers = true, &refusal{status: http.StatusNotFound, code: "", message: "404 page not found"}
}

// exists reports whether a path is in what Create made.
func (s *Server) exists(path string) bool {
	return slices.ContainsFunc(s.created, func(prefix string) bool { return strings.HasPrefix(path+"/", prefix+"/") })
}

func quayTraits() []Trait {
	return []Trait{
		{"other media types of manifests: 415 MANIFEST_INVALID", quay + "endpoints/v2/manifest.py", onlyManifests(refusal{status: http.StatusUnsupportedMediaType, code: "MANIFEST_INVALID", message: "manifest invalid"})},
		{"an index without some of its images: 400 MANIFEST_INVALID", quay + "image/shared/schemautil.py", func(s *rules) {
			s.childMissing = refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid", detail: "Could not find child manifest"}
		}},
		{"a manifest without its blobs: 400 MANIFEST_INVALID", quay + "data/model/oci/manifest.py", func(s *rules) {
			s.blobMissing = refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid", detail: "Unknown blob"}
		}},
		{"wrong bytes of a blob: 400 BLOB_UPLOAD_INVALID", quay + "endpoints/v2/blob.py", func(s *rules) {
			s.wrongDigest = refusal{status: http.StatusBadRequest, code: "BLOB_UPLOAD_INVALID", message: "blob upload invalid"}
		}},
		{"digests of other algorithms than sha256: 400 BLOB_UPLOAD_INVALID and MANIFEST_INVALID", quay + "data/registry_model/blobuploader.py", func(s *rules) {
			s.onlySHA256 = true
			s.wrongManifest = refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid", detail: "manifest digest mismatch"}
		}},
		{"the range of an upload that was asked for ends a byte too late, and begins with bytes=", quay + "endpoints/v2/blob.py", func(s *rules) {
			s.rangeOf = func(u *upload, asked bool) string {
				if asked {
					return "bytes=0-" + strconv.Itoa(len(u.data))
				}
				return "0-" + strconv.Itoa(len(u.data)-1)
			}
		}},
		{"locations are absolute", quay + "endpoints/v2/blob.py", func(s *rules) { s.absolute = true }},
		{"a manifest with a subject: no header OCI-Subject", quay + "endpoints/v2/manifest.py", func(s *rules) { s.noSubject = true }},
		{"referrers of a manifest that is absent: 400 MANIFEST_INVALID", quay + "endpoints/v2/referrers.py", func(s *rules) {
			s.unknownSubject = &refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid"}
		}},
		{"a manifest without tags is found for an hour after it was pushed by digest, and longer if it has a subject or is in a tagged index", quay + "data/model/oci/manifest.py", func(s *rules) { s.hides = true }},
		{"deleting a manifest without tags: 404 MANIFEST_UNKNOWN", quay + "endpoints/v2/manifest.py", deletes(func(r *repository, d digest.Digest, _ string, isTag bool) *refusal {
			if isTag || r.tagged(d) {
				return nil
			}
			return &refusal{status: http.StatusNotFound, code: "MANIFEST_UNKNOWN", message: "manifest unknown"}
		})},
		{"lists have at most 100 tags, and an absolute link to the next page", quay + "endpoints/v2/__init__.py", func(s *rules) {
			s.pageMax = 100
			s.link = func(c call, n int, page []string, more bool) string {
				next := nextPage(c, n, page, more)
				if next == "" {
					return ""
				}
				return "http://" + c.r.Host + next
			}
		}},
		{"an immutable tag: 409 TAG_IMMUTABLE", quay + "endpoints/v2/errors.py", locked(func(_ *repository, tag string) refusal {
			return refusal{status: http.StatusConflict, code: "TAG_IMMUTABLE", message: "tag is immutable and cannot be overwritten", detail: "tag '" + tag + "' is immutable"}
		})},
		{"a used up quota: 403 DENIED", quay + "endpoints/v2/errors.py", overQuota(http.MethodPost, refusal{status: http.StatusForbidden, code: "DENIED", message: "Quota has been exceeded on namespace"})},
	}
}

func harborTraits() []Trait {
	return []Trait{
		{"a repository outside a project: 400 BAD_REQUEST", harbor + "server/middleware/artifactinfo/artifact_info.go", requests(func(_ *Server, c call) *refusal {
			if c.path != "" && !strings.Contains(c.path, "/") {
				return &refusal{status: http.StatusBadRequest, code: "BAD_REQUEST", message: "invalid repository name: " + c.path}
			}
			return nil
		})},
		{"a project that is absent: 401 UNAUTHORIZED", harbor + "server/middleware/v2auth/auth.go", requests(func(s *Server, c call) *refusal {
			if project, _, _ := strings.Cut(c.path, "/"); c.path != "" && !s.exists(project) {
				return &refusal{status: http.StatusUnauthorized, code: "UNAUTHORIZED", message: "project " + project + " not found"}
			}
			return nil
		})},
		{"a list of repositories, for others than administrators: 401 UNAUTHORIZED", harbor + "server/middleware/v2auth/auth.go", requests(func(_ *Server, c call) *refusal {
			if c.kind == "_catalog" {
				return &refusal{status: http.StatusUnauthorized, code: "UNAUTHORIZED", message: "unauthorized to list catalog", challenge: `Basic realm="harbor"`}
			}
			return nil
		})},
		{"deleting a tag: 400 UNSUPPORTED", harbor + "server/registry/manifest.go", deletes(func(_ *repository, _ digest.Digest, name string, isTag bool) *refusal {
			if isTag {
				return &refusal{status: http.StatusBadRequest, code: "UNSUPPORTED", message: "unsupported digest " + name}
			}
			return nil
		})},
		{"deleting a manifest that an index lists: 412 VIOLATE_FOREIGN_KEY_CONSTRAINT", harbor + "controller/artifact/controller.go", deletes(func(r *repository, d digest.Digest, _ string, _ bool) *refusal {
			for range r.parents(d) {
				return &refusal{status: http.StatusPreconditionFailed, code: "VIOLATE_FOREIGN_KEY_CONSTRAINT", message: "the deleting artifact is referenced by others"}
			}
			return nil
		})},
		{"deleting a manifest deletes its referrers, and the images of an index that have no tags", harbor + "controller/artifact/controller.go", func(s *rules) { s.cascades = true }},
		{"an immutable tag: 412 PRECONDITION", harbor + "server/middleware/immutable/pushmf.go", locked(func(r *repository, tag string) refusal {
			_, name, _ := strings.Cut(r.name, "/")
			return refusal{status: http.StatusPreconditionFailed, code: "PRECONDITION", message: "Failed to process request due to '" + name + ":" + tag + "' configured as immutable."}
		})},
		{"a used up quota: 403 DENIED", harbor + "pkg/quota/errors.go", overQuota(http.MethodPut, refusal{status: http.StatusForbidden, code: "DENIED", message: "adding 1.0 MiB of storage resource, which when updated to current usage of 10.0 GiB will exceed the configured upper limit of 10.0 GiB."})},
	}
}

func giteaTraits() []Trait {
	return []Trait{
		{"other media types of manifests: 400 MANIFEST_INVALID", giteaManifest, onlyManifests(refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "MediaType not recognized"})},
		{"an index in an index: 400 MANIFEST_INVALID", giteaManifest, pushes(func(_ *repository, p push) *refusal {
			if slices.ContainsFunc(p.Manifests, func(d ocispec.Descriptor) bool {
				return d.MediaType == ocispec.MediaTypeImageIndex || d.MediaType == dockerList
			}) {
				return &refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid"}
			}
			return nil
		})},
		{"an index without some of its images: 404 MANIFEST_BLOB_UNKNOWN", giteaErrors, func(s *rules) {
			s.childMissing = refusal{status: http.StatusNotFound, code: "MANIFEST_BLOB_UNKNOWN", message: "blob unknown to registry"}
		}},
		{"a manifest without its blobs: 404 BLOB_UNKNOWN", giteaContainer, func(s *rules) {
			s.blobMissing = refusal{status: http.StatusNotFound, code: "BLOB_UNKNOWN", message: "blob unknown to registry"}
		}},
		{"no referrers, and no header OCI-Subject", giteaContainer, noReferrers},
		{"digests of other algorithms than sha256: 400 DIGEST_INVALID", giteaContainer, func(s *rules) { s.onlySHA256 = true }},
		{"a manifest is not compared with the digest that it is pushed by", giteaManifest, func(s *rules) { s.renames = true }},
		{"the range of an upload that was asked for ends a byte too late", giteaContainer, func(s *rules) {
			s.rangeOf = func(u *upload, asked bool) string {
				if asked {
					return "0-" + strconv.Itoa(len(u.data))
				}
				return specifiedRange(u, asked)
			}
		}},
		{"tags are in lower case", giteaManifest, func(s *rules) { s.foldsTags = true }},
		{"a manifest that was pushed by tag ends with its last tag, also if that moves", giteaManifest, func(s *rules) { s.tagsOwn = true }},
		{"blobs are sent whole, whatever the range", giteaContainer, func(s *rules) { s.noRange = true }},
		{"each page that has tags links to a next one, and the last one has null", giteaContainer, func(s *rules) {
			s.nullLists = true
			s.link = func(c call, _ int, page []string, _ bool) string {
				if len(page) == 0 {
					return ""
				}
				query := c.r.URL.Query()
				query.Set("last", page[len(page)-1])
				return c.r.URL.Path + "?" + url.Values{"n": query["n"], "last": query["last"]}.Encode()
			}
		}},
	}
}
