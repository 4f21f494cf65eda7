package payload

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/gantry-mirror/gantry/pkg/fail"
)

func TestParseMetadata(t *testing.T) {
	const head = `{"kind":"cincinnati-metadata-v0","version":"4.20.5"`
	for text, want := range map[string]Release{
		head + `}`: {Metadata: map[string]string{}},
		head + `,"previous":null,"next":null,"metadata":null}`: {Metadata: map[string]string{}},
		head + `,"previous":["4.19.1","4.20.0-rc.1"],"next":["4.21.0-ec.2"],"metadata":{"url":"https://example.com","description":""}}`: {
			Previous: []string{"4.19.1", "4.20.0-rc.1"}, Next: []string{"4.21.0-ec.2"},
			Metadata: map[string]string{"url": "https://example.com", "description": ""}, URL: "https://example.com",
		},
		head + `,"unknown":{},"metadata":{"n":12345678901234567890,"b":true,"o":{ "a": [1, 2] },"null":null,"s":"\u00e4"}}`: {
			Metadata: map[string]string{"n": "12345678901234567890", "b": "true", "o": `{"a":[1,2]}`, "s": "ä"},
		},
	} {
		want.Version = "4.20.5"
		got, err := parseMetadata([]byte(text))
		fail.On(t, err)
		fail.Diff(t, &want, got)
	}
	for text, want := range map[string]string{
		`{"kind":"cincinnati-metadata-v1","version":"4.20.5"}`: `kind "cincinnati-metadata-v1"`,
		`{"version":"4.20.5"}`:                                 `kind ""`,
		`{"kind":"cincinnati-metadata-v0"}`:                    `version ""`,
		`{"kind":"cincinnati-metadata-v0","version":"4.20"}`:   `version "4.20"`,
		head + `,"previous":["4.19.1","v4.19.2"]}`:             `previous[1] "v4.19.2"`,
		head + `,"next":[""]}`:                                 `next[0] ""`,
		head + `,"version":"4.20.6"}`:                          "duplicate",
		head + `,"previous":"4.19.1"}`:                         "previous",
		head:                                                   "EOF",
		head + `}{}`:                                           "after top-level value",
	} {
		if _, err := parseMetadata([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// FuzzMetadata checks that accepted metadata can be written and read again.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(metadata("4.20.5", `,"x":1`)))
	f.Add([]byte(`{"kind":"cincinnati-metadata-v0","version":"4.20.5-rc.1+b","next":["1.0.0"],"metadata":{"a":[ 1,{"b":null}],"c":null,"url":7}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		about, err := parseMetadata(data)
		if err != nil {
			return
		}
		m := metadataText{Kind: metadataKind, Version: about.Version, Previous: about.Previous, Next: about.Next, Metadata: map[string]jsontext.Value{}}
		for key, value := range about.Metadata {
			m.Metadata[key], err = json.Marshal(value)
			fail.On(t, err)
		}
		text, err := json.Marshal(m)
		fail.On(t, err)
		again, err := parseMetadata(text)
		fail.On(t, err)
		fail.Diff(t, about, again, cmpopts.EquateEmpty())
	})
}
