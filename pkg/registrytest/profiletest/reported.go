package profiletest

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/opencontainers/go-digest"
)

func nexusTraits() []Trait {
	const issues = "https://github.com/sonatype/nexus-public/issues/"
	return []Trait{
		{"the link to the next page, of a proxy repository, has a path at which the registry responds 400", issues + "1011", func(s *rules) {
			s.link = func(c call, n int, page []string, more bool) string {
				if next := nextPage(c, n, page, more); next != "" {
					return "http://" + c.r.Host + "/repository/docker" + next
				}
				return ""
			}
		}},
		{"deleting a manifest keeps its tags", issues + "925", func(s *rules) { s.keepsTags = true }},
		{"an index without some of its images: 400", "https://github.com/estesp/manifest-tool/issues/190", func(s *rules) {
			s.childMissing = refusal{status: http.StatusBadRequest, code: "MANIFEST_INVALID", message: "manifest invalid"}
		}},
		{"no referrers: OCI 1.0", "https://help.sonatype.com/en/docker-registry.html", noReferrers},
	}
}

func artifactoryTraits() []Trait {
	return []Trait{
		{"its own form of errors, with a status and without a code", "https://github.com/containers/image/issues/1009", func(s *rules) {
			s.form = func(no refusal) (contentType, text string) {
				if no.code == "MANIFEST_INVALID" { // as it answers docker
					return specifiedForm(no)
				}
				return "application/json", fmt.Sprintf("{\n  \"errors\" : [ {\n    \"status\" : %d,\n    \"message\" : %q\n  } ]\n}", no.status, no.message)
			}
		}},
		{"deleting: 406", "https://github.com/containers/image/issues/1009", deletesNothing(refusal{status: http.StatusNotAcceptable, code: "", message: "Not Acceptable"})},
		{"the link to the next page counts tags, lacks the repository key of Artifactory and never changes", "https://github.com/renovatebot/renovate/issues/15080", func(s *rules) {
			s.link = func(c call, n int, _ []string, more bool) string {
				if _, rest, ok := strings.Cut(c.path, "/"); more && ok {
					return fmt.Sprintf("/v2/%s/tags/list?last=%d&n=%d", rest, n, n)
				}
				return ""
			}
		}},
		{"moving a tag without the permission to delete: MANIFEST_INVALID (the report has no status; here 403)", "https://github.com/GoogleContainerTools/kaniko/issues/1095", locked(func(*repository, string) refusal {
			return refusal{status: http.StatusForbidden, code: "MANIFEST_INVALID", message: "manifest invalid"}
		})},
	}
}

func ecrTraits() []Trait {
	const (
		roadmap = "https://github.com/aws/containers-roadmap/issues/"
		options = "https://pkg.go.dev/cuelabs.dev/go/oci/ociregistry/ociserver#Options"
	)
	return []Trait{
		{"a repository that is absent: 404 NAME_UNKNOWN", "https://github.com/plexsystems/sinker/issues/55", requests(func(s *Server, c call) *refusal {
			if c.path != "" && !s.exists(c.path) {
				return &refusal{status: http.StatusNotFound, code: "NAME_UNKNOWN", message: "The repository with name '" + c.path + "' does not exist in the registry with id '123456789012'"}
			}
			return nil
		})},
		{"a part of an upload: 201, and from the second on a range that no longer grows", roadmap + "2831", func(s *rules) {
			s.chunkStatus = http.StatusCreated
			first := map[*upload]string{}
			s.rangeOf = func(u *upload, asked bool) string {
				if u.parts <= 1 || first[u] == "" {
					first[u] = specifiedRange(u, asked)
				}
				return first[u]
			}
		}},
		{"a part that does not begin where the upload ends: 416 BLOB_UPLOAD_INVALID", "https://github.com/apple/containerization/issues/790", func(s *rules) {
			s.wrongRange = refusal{status: http.StatusRequestedRangeNotSatisfiable, code: "BLOB_UPLOAD_INVALID", message: "First byte of the layer part is 0 instead of 11304960"}
		}},
		{"mounts only if that is enabled", "https://docs.amazonaws.cn/en_us/AmazonECR/latest/userguide/blob-mounting.html", func(s *rules) { s.noMount = true }},
		{"GET of a tag: no header Docker-Content-Digest", options, func(s *rules) { s.noTagDigest = true }},
		{"pages of more than 1,000 names: 405", options, requests(func(_ *Server, c call) *refusal {
			if n := c.r.URL.Query().Get("n"); len(n) > 4 || len(n) == 4 && n > "1000" {
				return &refusal{status: http.StatusMethodNotAllowed, code: "UNSUPPORTED", message: "Invalid parameter at 'maxResults' failed to satisfy constraint: 'Member must have value less than or equal to 1000'"}
			}
			return nil
		})},
		{"an immutable tag: TAG_INVALID (the report has no status; here 400)", "https://github.com/osscontainertools/kaniko/pull/204", locked(func(r *repository, tag string) refusal {
			return refusal{status: http.StatusBadRequest, code: "TAG_INVALID", message: "The image tag '" + tag + "' already exists in the '" + r.name + "' repository and cannot be overwritten because the tag is immutable."}
		})},
		{"deleting a manifest that an index lists is refused (the report has no status; here 403)", "https://github.com/oras-project/oras/issues/1228", deletes(func(r *repository, d digest.Digest, _ string, _ bool) *refusal {
			for range r.parents(d) {
				return &refusal{status: http.StatusForbidden, code: "DENIED", message: "the image is referenced by a manifest list"}
			}
			return nil
		})},
	}
}

func earlierECRTraits() []Trait {
	return append(ecrTraits(), []Trait{
		{"manifests with artifactType, subject or data: 405 UNSUPPORTED", "https://github.com/docker/compose/pull/11239", pushes(func(_ *repository, p push) *refusal {
			if p.ArtifactType == "" && p.Subject == nil && len(p.Config.Data) == 0 {
				return nil
			}
			return &refusal{status: http.StatusMethodNotAllowed, code: "UNSUPPORTED", message: "Invalid parameter at 'ImageManifest' failed to satisfy constraint: 'Invalid JSON syntax'"}
		})},
		{"no referrers", "https://github.com/awslabs/soci-snapshotter/pull/1327", noReferrers},
		{"deleting: 404 with a text", "https://github.com/aws/containers-roadmap/issues/1229", func(s *rules) {
			deletesNothing(refusal{status: http.StatusNotFound, code: "", message: "404 page not found"})(s)
			s.form = func(no refusal) (contentType, text string) {
				if no.code == "" {
					return "text/plain; charset=utf-8", no.message + "\n"
				}
				return specifiedForm(no)
			}
		}},
	}...)
}

func ghcrTraits() []Trait {
	return []Trait{
		{"deleting: 405 UNSUPPORTED", "https://github.com/podman-container-tools/skopeo/issues/1880", deletesNothing(refusal{status: http.StatusMethodNotAllowed, code: "UNSUPPORTED", message: "The operation is unsupported."})},
		{"no referrers, and no header OCI-Subject", "https://github.com/dataaxiom/ghcr-cleanup-action/issues/13", noReferrers},
		{"a part of an upload of more than 4 MiB: 416", "https://github.com/ocx-sh/ocx/pull/237", func(s *rules) {
			s.chunkMost = 4 << 20
			s.chunkTooLarge = refusal{status: http.StatusRequestedRangeNotSatisfiable, code: "REQUESTED_RANGE_NOT_SATISFIABLE", message: "the request body is too large and exceeds the maximum permissible limit of 4.00MiB"}
		}},
	}
}
