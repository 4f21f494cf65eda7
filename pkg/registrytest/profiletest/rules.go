package profiletest

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/opencontainers/go-digest"
)

// rules are how a registry behaves. The traits of a profile change them.
type rules struct {
	access
	before   []func(*Server, call) *refusal                                           // any request
	onPush   []func(*repository, push) *refusal                                       // of a manifest
	onDelete []func(r *repository, d digest.Digest, name string, isTag bool) *refusal // of a manifest
	form     func(refusal) (contentType, text string)                                 // of errors
	link     func(c call, n int, page []string, more bool) string                     // to the next page; "" for none
	rangeOf  func(u *upload, asked bool) string                                       // the header Range of an upload

	unknown      refusal // a manifest
	childMissing refusal // of an index
	blobMissing  refusal // of a manifest
	wrongDigest  refusal // of a blob
	wrongRange   refusal // of a part of an upload

	wrongManifest refusal // by another digest
	renames       bool    // a manifest with another digest than the one that it was pushed by
	onlySHA256    bool

	foldsTags   bool // into lower case
	hides       bool // manifests that have no tag and are in no tagged index
	tagsOwn     bool // a manifest that was pushed by tag ends with its last tag
	keepsTags   bool // of a manifest that was deleted
	cascades    bool // deletes children and referrers with a manifest
	noTagDigest bool // in responses to GET by tag

	noSubject      bool // in responses to manifests with a subject
	noReferrers    *refusal
	unknownSubject *refusal

	pageMax   int
	nullLists bool // "tags": null

	noRange, noMount, absolute bool
	chunkStatus                int
	chunkMost                  int64 // bytes in a part of an upload with a Content-Range
	chunkTooLarge              refusal
}

// specified returns rules that follow the distribution specification 1.1.
func specified() rules {
	wrongDigest := refusal{status: http.StatusBadRequest, code: "DIGEST_INVALID", message: "provided digest did not match uploaded content"}
	return rules{
		access: access{
			user: "robot", service: "HOST", basic: `Basic realm="registry"`, scope: repositoryScope,
			denied: refusal{status: http.StatusForbidden, code: "DENIED", message: "requested access to the resource is denied"},
		},
		form: specifiedForm, link: nextPage, rangeOf: specifiedRange, chunkStatus: http.StatusAccepted,
		unknown:      refusal{status: http.StatusNotFound, code: "MANIFEST_UNKNOWN", message: "manifest unknown"},
		childMissing: refusal{status: http.StatusNotFound, code: "MANIFEST_UNKNOWN", message: "manifest unknown"},
		blobMissing:  refusal{status: http.StatusNotFound, code: "MANIFEST_BLOB_UNKNOWN", message: "blob unknown to registry"},
		wrongDigest:  wrongDigest, wrongManifest: wrongDigest,
		wrongRange: refusal{status: http.StatusRequestedRangeNotSatisfiable, code: "BLOB_UPLOAD_INVALID", message: "blob upload invalid"},
	}
}

// nextPage is a link relative to the host, if there is another page.
func nextPage(c call, n int, page []string, more bool) string {
	if !more || len(page) == 0 {
		return ""
	}
	query := url.Values{"n": {strconv.Itoa(n)}, "last": {page[len(page)-1]}}
	return c.r.URL.Path + "?" + query.Encode()
}
