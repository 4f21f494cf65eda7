package remote

import (
	"errors"
	"math"
	"net/http"
	"strconv"
)

const (
	// defaultChunk is the most that is sent in one request, in bytes. A blob of this size or less
	// takes two requests, each further chunk one more. It is small enough that little is sent twice
	// if a registry stores only complete chunks, such as Quay, and for proxies with a limit of 100
	// MB; it is large enough that the cost per chunk (distribution syncs each) is negligible.
	defaultChunk = 64 << 20
	// smallChunk is used if a registry or proxy refuses a larger chunk as too large.
	smallChunk = 8 << 20
)

// An uploadMode is how a blob is sent: in requests with at most chunk bytes. The last request is
// the PUT that completes the upload; with emptyPut, it has no body.
type uploadMode struct {
	chunk    int64
	emptyPut bool
}

// unlimited is a chunk size that no blob exceeds.
const unlimited = math.MaxInt64

// raiseTo raises the chunk size to a registry's OCI-Chunk-Min-Length.
func (w *uploadMode) raiseTo(header string) {
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		w.chunk = max(w.chunk, n)
	}
}

// refusals are what a registry refused while one blob was sent.
type refusals struct {
	chunks  bool // parts with a Content-Range
	put     bool // a PUT with a body
	size    bool // a body, as too large
	session bool // a part that was not the first, or a session as not found; tried once
	content bool // the digest of content sent in parts; tried once
}

// uploadMode returns how the host accepts blobs, as far as known.
func (h *host) uploadMode(most int64) uploadMode {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.noChunks {
		most = unlimited
	}
	return uploadMode{chunk: most, emptyPut: h.noPut}
}

// learnUploadMode records what the host refused for a blob that it accepted in the end, so that the
// next blob is sent that way at once.
func (h *host) learnUploadMode(w uploadMode, r refusals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noChunks = h.noChunks || r.chunks && w.chunk == unlimited
	h.noPut = h.noPut || r.put && w.emptyPut
}

// fallBack selects another mode for a blob that a registry refused with err, and reports whether
// there is one. Each is tried once.
func (u *upload) fallBack(err error) bool {
	e := registryError(err)
	parts := u.mode.chunk < u.desc.Size || u.resumed
	switch {
	case errors.Is(err, errChanged), e != nil && (e.Code == "DIGEST_INVALID" || e.Code == "SIZE_INVALID"):
		// Parts may have been joined wrongly. Content sent in one request was not.
		if !parts || u.refused.content || u.refused.size {
			return false
		}
		u.refused.content = true
		u.refused.chunks = u.refused.chunks || !u.resumed
		u.mode.chunk = unlimited
		return true
	case e == nil:
		return false
	case e.Status == http.StatusRequestEntityTooLarge:
		if u.refused.size {
			return false
		}
		u.refused.size = true
		u.mode.chunk = smallChunk
		return true
	case !refusesMode(e.Status):
		return false
	case (parts && u.off > 0 || e.Status == http.StatusNotFound) && !u.refused.session:
		u.refused.session = true // the session may have been lost
		return true
	case parts && !u.refused.chunks && !u.refused.size:
		u.refused.chunks = true
		u.mode.chunk = unlimited
		return true
	case !parts && !u.mode.emptyPut:
		u.refused.put = true
		u.mode.emptyPut = true
		return true
	}
	return false
}

// refusesMode reports whether a registry that responds with this status to a blob, or a part of it,
// may accept it in another mode.
func refusesMode(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusRequestedRangeNotSatisfiable, http.StatusNotImplemented:
		return true
	}
	return false
}
