package plan

import (
	"io"
	"strings"
	"testing"
)

// An endless reader returns a text and then another one again and again. It counts what was read.
type endless struct {
	first, again string
	read         int
}

func (e *endless) Read(p []byte) (n int, err error) {
	for n < len(p) {
		if e.first == "" {
			e.first = strings.Repeat(e.again, 1+len(p)/len(e.again))
		}
		k := copy(p[n:], e.first)
		e.first, n = e.first[k:], n+k
	}
	e.read += n
	return n, nil
}

// TestReadLimits checks that a plan which would take too much memory is refused soon.
func TestReadLimits(t *testing.T) {
	const begin = `{"kind":"GantryPlan","version":1,"name":"x",`
	const image = `{"source":"quay.io/a/b:v1","kind":"additional","digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","repository":"a","tags":["v1"],"size":1,"because":[`
	for name, tc := range map[string]struct {
		text      *endless
		want      string
		atMostMiB int
	}{
		"a text":             {&endless{first: begin + `"images":[{"source":"`, again: "a"}, "value of more than 1 MiB", 4},
		"the name":           {&endless{first: `{"kind":"GantryPlan","version":1,"name":"`, again: "a"}, "value of more than 1 MiB", 4},
		"the kind":           {&endless{first: `{"kind":"`, again: "a"}, "value of more than 1 MiB", 4},
		"a name of a field":  {&endless{first: begin + `"`, again: "a"}, "value of more than 1 MiB", 4},
		"a number":           {&endless{first: begin + `"archiveSize":`, again: "1"}, "value of more than 1 MiB", 4},
		"spaces":             {&endless{first: begin, again: " "}, "value of more than 1 MiB", 4},
		"a selection":        {&endless{first: begin + `"catalogs":[{"selection":{"a":[""`, again: `,"some text"`}, "value of more than 1 MiB", 4},
		"an entry":           {&endless{first: begin + `"images":[` + image + "{}", again: `,{"list":"additionalImages", "bundle":"a text of some length"}`}, "entry of more than 2 MiB", 4},
		"empty objects":      {&endless{first: begin + `"images":[` + image + "{}", again: `,{}`}, "objects in", 4},
		"empty texts":        {&endless{first: begin + `"images":[{"tags":[""`, again: `,""`}, "fields in", 4},
		"empty entries":      {&endless{first: begin + `"images":[{}`, again: `,{}`}, "it has no tag", 4},
		"many entries":       {&endless{first: begin + `"images":[` + image + "]}", again: `,` + image + `]}`}, "larger than 4 MiB", 6},
		"a skipped field":    {&endless{first: `{"other":["`, again: "a"}, "value of more than 1 MiB", 4},
		"skipped, then kind": {&endless{first: `{"images":[{}],"kind":"`, again: "a"}, "value of more than 1 MiB", 4},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(tc.text, limits{plan: 4 << 20, entry: 2 << 20, value: 1 << 20})
			if err == nil || !strings.Contains(err.Error(), tc.want) || len(err.Error()) > 2000 {
				t.Errorf("%.2000v", err)
			}
			if tc.text.read > tc.atMostMiB<<20 {
				t.Errorf("%d MiB were read", tc.text.read>>20)
			}
		})
	}
}

// TestReadUnknownFields checks that errors do not repeat long names.
func TestReadUnknownFields(t *testing.T) {
	long := strings.Repeat("long", 1<<14)
	for _, text := range []string{
		`{"kind":"GantryPlan","version":1,"` + long + `":1}`,
		`{"kind":"GantryPlan","version":1,"images":[{"` + long + `":1}]}`,
		`{"kind":"` + long + `","version":1}`,
		`{"kind":"GantryPlan","version":1,"images":"` + long + `"}`,
		`{"kind":"GantryPlan","version":1,"` + long + `":1,"` + long + `":1}`,
		`{"kind":"GantryPlan","version":1,"images":[{"source":1` + strings.Repeat("0", 1<<16) + `}]}`,
		`{"kind":"GantryPlan","version":1,"images":[{"because":[{"` + long + `":1,"` + long + `":1}]}]}`,
		`{"` + long + `":1,"` + long + `":1}`,
	} {
		if _, err := Read(strings.NewReader(text)); err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.80s: %.200v", text, err)
		}
	}
}

var _ io.Reader = (*endless)(nil)
