package sqlite

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const kindCSV = "ClusterServiceVersion"

// manifests are the Kubernetes objects of a bundle in the database.
type manifests struct {
	objects [][]byte
	csv     csv // zero without manifests
}

// A csv has the needed members of a ClusterServiceVersion.
type csv struct {
	Kind string `json:"kind"`
	Spec struct {
		Description string `json:"description"`
		Icon        []struct {
			Data      string `json:"base64data"`
			MediaType string `json:"mediatype"`
		} `json:"icon"`
		RelatedImages []struct {
			Name  string `json:"name"`
			Image string `json:"image"`
		} `json:"relatedImages"`
	} `json:"spec"`
}

// manifests reads the manifests of a bundle: JSON objects one after the other, including a
// ClusterServiceVersion.
func (x *index) manifests(ctx context.Context, r *row) (m manifests, err error) {
	if r.size == 0 {
		return m, nil
	}
	if r.size > maxManifests {
		return m, fmt.Errorf("the manifests have %d bytes, more than the limit of %d", r.size, maxManifests)
	}
	var text []byte
	if err := x.conn.QueryRowContext(ctx, "SELECT bundle FROM main.operatorbundle WHERE rowid = ?", r.id).Scan(&text); err != nil {
		return m, err
	}
	found := false
	d := jsontext.NewDecoder(bytes.NewBuffer(text), asLenient()...)
	for {
		o, err := d.ReadValue()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return m, fmt.Errorf("reading the manifests: %w", err)
		}
		o = bytes.Clone(o)
		m.objects = append(m.objects, o)
		if found {
			continue
		}
		var c csv
		if err := json.Unmarshal(o, &c, asLenient()...); err == nil && c.Kind == kindCSV {
			m.csv, found = c, true
		} else if err != nil && isCSV(o) {
			return m, fmt.Errorf("reading the %s: %w", kindCSV, err)
		}
	}
	if !found {
		return m, fmt.Errorf("the manifests contain no %s", kindCSV)
	}
	return m, nil
}

// asLenient returns options to accept what encoding/json accepts, which opm uses.
func asLenient() []json.Options {
	return []json.Options{json.MatchCaseInsensitiveNames(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}
}

// isCSV reports whether an object is a ClusterServiceVersion by its kind.
func isCSV(object []byte) bool {
	var o struct {
		Kind string `json:"kind"`
	}
	return json.Unmarshal(object, &o, asLenient()...) == nil && o.Kind == kindCSV
}

// shown is what consoles show of a ClusterServiceVersion.
type shown struct {
	description string
	icon        []byte
	mediaType   string
}

// shown returns what consoles show of the head of a channel; nothing if the database does not have
// its manifests.
func (x *index) shown(ctx context.Context, head string) (s shown, err error) {
	r, err := x.bundle(ctx, head)
	if err != nil || r == nil {
		return s, err
	}
	m, err := x.manifests(ctx, r)
	if err != nil {
		return s, err
	}
	s.description = m.csv.Spec.Description
	if len(m.csv.Spec.Icon) > 0 {
		// Like opm, an icon that is not base64 is ignored.
		if s.icon, err = decodeIcon(m.csv.Spec.Icon[0].Data); err == nil {
			s.mediaType = m.csv.Spec.Icon[0].MediaType
		} else {
			s.icon = nil
		}
	}
	return s, nil
}

// decodeIcon decodes the base64data of a ClusterServiceVersion's icon. Some are wrapped, so white
// space is accepted.
func decodeIcon(text string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
}
