package registryserver

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// bufferSize is how many bytes of a blob are read and sent at once.
const bufferSize = 256 << 10

// manifest serves a manifest by tag or digest. It is sent with its own media type, whatever types
// the request accepts: a converted manifest would have another digest.
func (r *Registry) manifest(w http.ResponseWriter, req *http.Request, res resource) error {
	if res.repository == nil {
		return unknownRepository(res.name)
	}
	found := r.tagged(res.repository, res.tag)
	if res.digest != "" {
		found = r.contentOf(res.repository, res.digest)
	}
	if found == nil || found.mediaType == "" {
		return newError(http.StatusNotFound, codeManifestUnknown, "%.200s does not exist in %s", res.tag+res.digest.String(), res.name)
	}
	if req.Method == http.MethodHead {
		return r.send(w, req, found, found.mediaType, &sizeOnly{size: found.size})
	}
	_, raw, err := r.source.Manifest(req.Context(), res.name, found.digest)
	if err != nil {
		return err
	}
	return r.send(w, req, found, found.mediaType, bytes.NewReader(raw))
}

// blob serves a config or layer, or a range of it.
func (r *Registry) blob(w http.ResponseWriter, req *http.Request, res resource) error {
	if res.repository == nil {
		return unknownRepository(res.name)
	}
	found := r.contentOf(res.repository, res.digest)
	if found == nil || !found.blob {
		return newError(http.StatusNotFound, codeBlobUnknown, "blob %s does not exist in %s", res.digest, res.name)
	}
	desc := ocispec.Descriptor{Digest: found.digest, Size: found.size}
	body := &stream{size: found.size, open: func(offset int64) (io.ReadCloser, error) {
		return r.source.Blob(req.Context(), res.name, desc, offset)
	}}
	defer body.close()
	return r.send(w, req, found, "application/octet-stream", body)
}

// send sends content. net/http handles conditions, ranges and HEAD.
func (r *Registry) send(w http.ResponseWriter, req *http.Request, c *content, mediaType string, body io.ReadSeeker) error {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Docker-Content-Digest", c.digest.String())
	h.Set("Etag", `"`+c.digest.String()+`"`)
	if req.Method == http.MethodHead || strings.Contains(req.Header.Get("Range"), ",") {
		// A server may answer a request for several ranges with the whole content (RFC 9110, 14.2).
		// No registry client sends such requests, and each range would open the content again.
		req.Header.Del("Range")
	}
	l := &delayedWriter{ResponseWriter: w, registry: r}
	http.ServeContent(l, req, "", time.Time{}, body)
	if s, ok := body.(*stream); ok && s.err != nil {
		if !l.sent {
			for _, name := range []string{"Docker-Content-Digest", "Etag", "Accept-Ranges", "Content-Range"} {
				h.Del(name)
			}
			return s.err
		}
		if req.Context().Err() == nil {
			r.log.Error("reading content stopped early", "path", req.URL.Path, "error", s.err)
		}
		abort()
	}
	if l.status == http.StatusRequestedRangeNotSatisfiable {
		for _, name := range []string{"Docker-Content-Digest", "Etag"} {
			h.Del(name)
		}
		return newError(l.status, codeRangeInvalid, "%s has %d bytes", c.digest, c.size)
	}
	l.send()
	return nil
}

// abort ends a response so that the client sees that it is incomplete: the connection is closed, or
// the stream reset.
func abort() { panic(http.ErrAbortHandler) } //nolint:forbidigo // net/http has no other means

// delayedWriter is an http.ResponseWriter that sends the status with the first byte of the content,
// so that unreadable content is answered with an error.
type delayedWriter struct {
	http.ResponseWriter
	registry *Registry
	status   int
	sent     bool
}

func (l *delayedWriter) WriteHeader(status int) { l.status = status }

func (l *delayedWriter) send() {
	if !l.sent && l.status != 0 {
		l.sent = true
		l.ResponseWriter.WriteHeader(l.status)
	}
}

func (l *delayedWriter) Write(p []byte) (int, error) {
	if l.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil // the error has a body of its own
	}
	l.send()
	return l.ResponseWriter.Write(p)
}

// ReadFrom sends the content of src. Each piece that the client reads extends the deadline: a large
// blob may take any time on a slow connection, but a client that stops reading is disconnected.
func (l *delayedWriter) ReadFrom(src io.Reader) (n int64, err error) {
	buf := l.registry.buffers.Get().(*[bufferSize]byte)
	defer l.registry.buffers.Put(buf)
	control := http.NewResponseController(l.ResponseWriter)
	for {
		got, err := src.Read(buf[:])
		if got > 0 {
			l.send()
			// A connection without deadlines keeps those of the server.
			_ = control.SetWriteDeadline(time.Now().Add(stallTime))
			wrote, err := l.ResponseWriter.Write(buf[:got])
			n += int64(wrote)
			if err != nil {
				return n, err
			}
		}
		if err == io.EOF {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// A stream opens content at the position where it is read. Content that is read from beginning to
// end has been compared with its digest before its last bytes are returned.
type stream struct {
	open func(offset int64) (io.ReadCloser, error)
	size int64
	at   int64
	body io.ReadCloser
	err  error // why reading failed
}

func (s *stream) Read(p []byte) (int, error) {
	switch {
	case s.err != nil:
		return 0, s.err
	case s.at == s.size && s.at > 0 || len(p) == 0:
		return 0, io.EOF
	}
	if s.body == nil {
		if s.body, s.err = s.open(s.at); s.err != nil {
			return 0, s.err
		}
	}
	n, err := s.body.Read(p)
	if s.at+int64(n) == s.size && err == nil {
		err = s.end()
	}
	s.at += int64(n)
	switch {
	case err == nil, err == io.EOF && s.at == s.size:
		return n, err
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	s.err = err
	return 0, err
}

// end reads past the last byte, where the source returns the result of its digest check.
func (s *stream) end() error {
	var one [1]byte
	for {
		switch n, err := s.body.Read(one[:]); {
		case n > 0:
			return errors.New("the content is longer than expected")
		case err != nil:
			return err
		}
	}
}

func (s *stream) Seek(offset int64, whence int) (int64, error) {
	at, err := seek(offset, whence, s.at, s.size)
	if err != nil || at == s.at {
		return at, err
	}
	s.close()
	s.at = at
	return at, nil
}

// close closes the content. Errors do not matter, since it was only read.
func (s *stream) close() {
	if s.body != nil {
		_ = s.body.Close()
		s.body = nil
	}
}

// sizeOnly is content of a known size that is not read, for HEAD requests.
type sizeOnly struct{ size, at int64 }

func (u *sizeOnly) Read([]byte) (int, error) { return 0, io.EOF }

func (u *sizeOnly) Seek(offset int64, whence int) (at int64, err error) {
	u.at, err = seek(offset, whence, u.at, u.size)
	return u.at, err
}

func seek(offset int64, whence int, at, size int64) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += at
	case io.SeekEnd:
		offset += size
	}
	if offset < 0 || offset > size {
		return at, errors.New("seeking outside the content")
	}
	return offset, nil
}
