package remote

import (
	"errors"
	"math"
	"net/http"
	"strconv"
)

const (
	// chunk is the most that goes up in one request, in bytes. A blob of this
	// size or less costs two requests, each further chunk one more. Small
	// enough that little is sent twice where a registry keeps whole chunks
	// only, such as Quay, and for proxies that take 100 MB; large enough that
	// what a chunk costs beside its bytes (distribution syncs each) is lost
	// among them.
	chunk = 64 << 20
	// smallChunk is what a registry or proxy that finds a chunk too large is
	// sent at a time.
	smallChunk = 8 << 20
)

// A way is how a blob is sent: in requests of so many bytes at most, the last of
// them the PUT that completes the upload, unless that has to be bare.
type way struct {
	most int64
	bare bool
}

// whole is a most that no blob exceeds.
const whole = math.MaxInt64

// least heeds a registry's OCI-Chunk-Min-Length.
func (w *way) least(header string) {
	if n, err := strconv.ParseInt(header, 10, 64); err == nil {
		w.most = max(w.most, n)
	}
}

// refusals are what a registry has refused of one blob.
type refusals struct {
	chunks bool // parts with a Content-Range
	put    bool // a PUT with a body
	size   bool // a body, for being too large
	lost   bool // a part that was not the first, or as not found, once
	doubt  bool // what had come up in parts, as another content, once
}

// way is how the host takes blobs, as far as is known.
func (h *host) way(most int64) way {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.noChunks {
		most = whole
	}
	return way{most: most, bare: h.noPut}
}

// learnWay keeps what the host refused of a blob that it took after all, so that
// the next one is spared it.
func (h *host) learnWay(w way, r refusals) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noChunks = h.noChunks || r.chunks && w.most == whole
	h.noPut = h.noPut || r.put && w.bare
}

// fallBack finds another way for a blob that a registry refused with err, and
// reports whether there is one. Each is taken once.
func (u *upload) fallBack(err error) bool {
	e := answer(err)
	parts := u.way.most < u.desc.Size || u.resumed
	switch {
	case errors.Is(err, errChanged), e != nil && (e.Code == "DIGEST_INVALID" || e.Code == "SIZE_INVALID"):
		// Parts may have been put together wrongly. What came up whole was not.
		if !parts || u.refused.doubt || u.refused.size {
			return false
		}
		u.refused.doubt = true
		u.refused.chunks = u.refused.chunks || !u.resumed
		u.way.most = whole
		return true
	case e == nil:
		return false
	case e.Status == http.StatusRequestEntityTooLarge:
		if u.refused.size {
			return false
		}
		u.refused.size = true
		u.way.most = smallChunk
		return true
	case !refusesWay(e.Status):
		return false
	case (parts && u.off > 0 || e.Status == http.StatusNotFound) && !u.refused.lost:
		u.refused.lost = true // the session may have been
		return true
	case parts && !u.refused.chunks && !u.refused.size:
		u.refused.chunks = true
		u.way.most = whole
		return true
	case !parts && !u.way.bare:
		u.refused.put = true
		u.way.bare = true
		return true
	}
	return false
}

// refusesWay reports whether a registry with this answer to a part, or to all,
// of a blob may take it when it is sent otherwise.
func refusesWay(status int) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusLengthRequired,
		http.StatusUnsupportedMediaType, http.StatusRequestedRangeNotSatisfiable, http.StatusNotImplemented:
		return true
	}
	return false
}
