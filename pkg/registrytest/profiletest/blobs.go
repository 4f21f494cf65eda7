package profiletest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/opencontainers/go-digest"
)

// blob answers a request for a blob.
func (s *Server) blob(c call) {
	d := digest.Digest(c.name)
	data, ok := c.repository.blobs[d]
	switch {
	case !ok:
		s.refuse(c, refusal{status: http.StatusNotFound, code: "BLOB_UNKNOWN", message: "blob unknown to registry"})
		return
	case c.r.Method == http.MethodDelete:
		delete(c.repository.blobs, d)
		c.w.WriteHeader(http.StatusAccepted)
		return
	}
	c.w.Header().Set("Docker-Content-Digest", d.String())
	c.w.Header().Set("Content-Type", "application/octet-stream")
	if s.noRange {
		c.w.Header().Set("Content-Length", strconv.Itoa(len(data)))
		if c.r.Method == http.MethodGet {
			_, _ = c.w.Write(data)
		}
		return
	}
	http.ServeContent(c.w, c.r, "", time.Time{}, bytes.NewReader(data))
}

// An upload is a session.
type upload struct {
	data  []byte
	parts int
}

// upload answers a request of an upload.
func (s *Server) upload(c call) {
	query := c.r.URL.Query()
	if c.r.Method == http.MethodPost {
		s.openUpload(c, digest.Digest(query.Get("mount")), query.Get("from"))
		return
	}
	u := s.uploads[c.name]
	if u == nil {
		s.refuse(c, refusal{status: http.StatusNotFound, code: "BLOB_UPLOAD_UNKNOWN", message: "blob upload unknown to registry"})
		return
	}
	switch c.r.Method {
	case http.MethodDelete:
		delete(s.uploads, c.name)
		c.w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		s.progress(c, u, true)
		c.w.WriteHeader(http.StatusNoContent)
	case http.MethodPatch, http.MethodPut:
		if no := s.part(c, u); no != nil {
			s.progress(c, u, false)
			s.refuse(c, *no)
			return
		}
		part, err := io.ReadAll(c.r.Body)
		u.data = append(u.data, part...) // also of a client that disconnected
		u.parts++
		if err != nil {
			return
		}
		if c.r.Method == http.MethodPatch {
			s.progress(c, u, false)
			c.w.WriteHeader(s.chunkStatus)
			return
		}
		d := digest.Digest(query.Get("digest"))
		delete(s.uploads, c.name)
		if !s.names(d, u.data) {
			s.refuse(c, s.wrongDigest)
			return
		}
		c.repository.blobs[d] = u.data
		s.stored(c, d)
	}
}

// part returns why a part of an upload is refused.
func (s *Server) part(c call, u *upload) *refusal {
	first, _, ranged := strings.Cut(c.r.Header.Get("Content-Range"), "-")
	at, err := strconv.Atoi(first)
	switch {
	case ranged && (err != nil || at != len(u.data)):
		return &s.wrongRange
	case s.chunkMost > 0 && ranged && c.r.ContentLength > s.chunkMost:
		return &s.chunkTooLarge
	}
	return nil
}

// openUpload mounts a blob or opens a session.
func (s *Server) openUpload(c call, mount digest.Digest, from string) {
	if source := s.repositories[from]; source != nil && !s.noMount {
		if data, ok := source.blobs[mount]; ok {
			c.repository.blobs[mount] = data
			s.stored(c, mount)
			return
		}
	}
	s.sessions++
	c.name = strconv.Itoa(s.sessions)
	s.uploads[c.name] = &upload{}
	s.progress(c, s.uploads[c.name], false)
	c.w.WriteHeader(http.StatusAccepted)
}

// progress sets the headers that say where an upload continues.
func (s *Server) progress(c call, u *upload, asked bool) {
	c.w.Header().Set("Location", s.location(c, "/v2/"+c.path+"/blobs/uploads/"+c.name))
	c.w.Header().Set("Docker-Upload-UUID", c.name)
	c.w.Header().Set("Range", s.rangeOf(u, asked))
}

func (s *Server) stored(c call, d digest.Digest) {
	c.w.Header().Set("Location", s.location(c, "/v2/"+c.path+"/blobs/"+d.String()))
	c.w.Header().Set("Docker-Content-Digest", d.String())
	c.w.WriteHeader(http.StatusCreated)
}

// location returns a path as the registry writes it.
func (s *Server) location(c call, path string) string {
	if s.absolute {
		return "http://" + c.r.Host + path
	}
	return path
}

// specifiedRange is where an upload ends, as most registries write it.
func specifiedRange(u *upload, _ bool) string { return fmt.Sprintf("0-%d", max(0, len(u.data)-1)) }
