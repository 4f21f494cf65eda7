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

// manifest answers for a manifest, by tag or digest. It is sent in the type that it
// has, whatever the request would rather accept: with another one it would have
// another digest.
func (r *Registry) manifest(w http.ResponseWriter, req *http.Request, at place) error {
	if at.repository == nil {
		return unnamed(at.name)
	}
	found := r.tagged(at.repository, at.tag)
	if at.digest != "" {
		found = r.contentOf(at.repository, at.digest)
	}
	if found == nil || found.mediaType == "" {
		return refuse(http.StatusNotFound, codeManifestUnknown, "there is no %.200s in %s", at.tag+at.digest.String(), at.name)
	}
	if req.Method == http.MethodHead {
		return r.send(w, req, found, found.mediaType, &unread{size: found.size})
	}
	_, raw, err := r.source.Manifest(req.Context(), at.name, found.digest)
	if err != nil {
		return err
	}
	return r.send(w, req, found, found.mediaType, bytes.NewReader(raw))
}

// blob answers for a config or layer, or a range of it.
func (r *Registry) blob(w http.ResponseWriter, req *http.Request, at place) error {
	if at.repository == nil {
		return unnamed(at.name)
	}
	found := r.contentOf(at.repository, at.digest)
	if found == nil || !found.blob {
		return refuse(http.StatusNotFound, codeBlobUnknown, "there is no blob %s in %s", at.digest, at.name)
	}
	desc := ocispec.Descriptor{Digest: found.digest, Size: found.size}
	body := &stream{size: found.size, open: func(offset int64) (io.ReadCloser, error) {
		return r.source.Blob(req.Context(), at.name, desc, offset)
	}}
	defer body.close()
	return r.send(w, req, found, "application/octet-stream", body)
}

// send sends content as HTTP has it: conditions, ranges and HEAD are net/http's.
func (r *Registry) send(w http.ResponseWriter, req *http.Request, c *content, mediaType string, body io.ReadSeeker) error {
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Docker-Content-Digest", c.digest.String())
	h.Set("Etag", `"`+c.digest.String()+`"`)
	if req.Method == http.MethodHead || strings.Contains(req.Header.Get("Range"), ",") {
		// Several ranges may be answered with the whole (RFC 9110, 14.2). No client of
		// registries asks for them, and each would open the content anew.
		req.Header.Del("Range")
	}
	l := &late{ResponseWriter: w, registry: r}
	http.ServeContent(l, req, "", time.Time{}, body)
	if s, ok := body.(*stream); ok && s.err != nil {
		if !l.sent {
			for _, name := range []string{"Docker-Content-Digest", "Etag", "Accept-Ranges", "Content-Range"} {
				h.Del(name)
			}
			return s.err
		}
		if req.Context().Err() == nil {
			r.log.Error("content cannot be read to its end", "path", req.URL.Path, "error", s.err)
		}
		breakOff()
	}
	if l.status == http.StatusRequestedRangeNotSatisfiable {
		for _, name := range []string{"Docker-Content-Digest", "Etag"} {
			h.Del(name)
		}
		return refuse(l.status, codeRangeInvalid, "%s has %d bytes", c.digest, c.size)
	}
	l.send()
	return nil
}

// breakOff ends an answer so that the client sees that it is not whole: the
// connection is closed, or the stream reset.
func breakOff() { panic(http.ErrAbortHandler) } //nolint:forbidigo // net/http knows no other way

// late is an http.ResponseWriter that sends the status with the first byte of the
// content, so that what cannot be read at all is answered with an error.
type late struct {
	http.ResponseWriter
	registry *Registry
	status   int
	sent     bool
}

func (l *late) WriteHeader(status int) { l.status = status }

func (l *late) send() {
	if !l.sent && l.status != 0 {
		l.sent = true
		l.ResponseWriter.WriteHeader(l.status)
	}
}

func (l *late) Write(p []byte) (int, error) {
	if l.status == http.StatusRequestedRangeNotSatisfiable {
		return len(p), nil // the refusal has its own text
	}
	l.send()
	return l.ResponseWriter.Write(p)
}

// ReadFrom sends what src has. Whoever takes a piece gets time for the next: a
// large blob on a slow line takes as long as it takes, and one that nobody takes
// ends.
func (l *late) ReadFrom(src io.Reader) (n int64, err error) {
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

// A stream reads content where it is asked for. Content that was read from its
// beginning to its end has been compared with its digest before the last bytes of
// it are given out.
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

// end reads behind the last byte, where the source says whether all was right.
func (s *stream) end() error {
	var one [1]byte
	for {
		switch n, err := s.body.Read(one[:]); {
		case n > 0:
			return errors.New("the content is longer than it should be")
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

// close lets go of the content, which is only read from.
func (s *stream) close() {
	if s.body != nil {
		_ = s.body.Close()
		s.body = nil
	}
}

// unread stands for content of which only the size is wanted.
type unread struct{ size, at int64 }

func (u *unread) Read([]byte) (int, error) { return 0, io.EOF }

func (u *unread) Seek(offset int64, whence int) (at int64, err error) {
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
		return at, errors.New("seeking outside of the content")
	}
	return offset, nil
}
