package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/gantry-mirror/gantry/pkg/chart/render"
)

// What is wrong with a chart and what is wrong with its settings are different kinds of errors.
func TestErrors(t *testing.T) {
	t.Parallel()
	good := archiveOf(t, chartFile+"-- templates/a.yaml --\nkind: X\nspec: {image: {a: b}}\n")
	for name, test := range map[string]struct {
		request    render.Request
		kind, want string
	}{
		"not an archive":    {render.Request{Chart: []byte("chart")}, render.ChartError, "reading the chart"},
		"no Chart.yaml":     {render.Request{Chart: archiveOf(t, "-- values.yaml --\n")}, render.ChartError, "Chart.yaml"},
		"outside":           {render.Request{Chart: archiveOf(t, "-- ../../a --\n"+chartFile)}, render.ChartError, "reading the chart"},
		"values":            {render.Request{Chart: good, Values: []render.Values{{Name: "prod.yaml", Data: []byte("a: [")}}}, render.InputError, "prod.yaml"},
		"values are a list": {render.Request{Chart: good, Values: []render.Values{{Name: "prod.yaml", Data: []byte("[a]")}}}, render.InputError, "prod.yaml"},
		"a path":            {render.Request{Chart: good, ImagePaths: []string{"{.spec.image"}}, render.InputError, `"{.spec.image" is not a JSON path`},
		"kubeVersion":       {render.Request{Chart: good, KubeVersion: "x"}, render.InputError, "kubeVersion"},
		"a dependency": {render.Request{Chart: archiveOf(t, "-- Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\ndependencies: [{name: d, version: 1.0.0}]\n")},
			render.ChartError, "helm dependency build"},
		"Kubernetes": {render.Request{Chart: archiveOf(t, "-- Chart.yaml --\napiVersion: v2\nname: c\nversion: 1.0.0\nkubeVersion: <1.19\n")}, render.ChartError, "set kubeVersion"},
		"the schema": {render.Request{Chart: archiveOf(t, chartFile+"-- values.schema.json --\n{\"required\": [\"password\"]}\n")}, render.ChartError, "password"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.request.Version = render.ProtocolVersion
			got := respond(&test.request)
			if got.Error == nil || got.Error.Kind != test.kind || !strings.Contains(got.Error.Message, test.want) {
				t.Errorf("%v, want %s %q", got.Error, test.kind, test.want)
			}
		})
	}
	if got := respond(&render.Request{Version: 99}); got.Error == nil || !strings.Contains(got.Error.Message, "version 99") {
		t.Errorf("another version: %v", got.Error)
	}
}

// A schema that refers to a file or an address is not used, and nothing is read.
func TestSchemaElsewhere(t *testing.T) {
	t.Parallel()
	for text, elsewhere := range map[string]bool{
		`{"$schema": "https://json-schema.org/draft/2020-12/schema", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}}`: false,
		`{"properties": {"a": {"$ref": "file:///etc/passwd"}}}`:                                                                       true,
		`{"allOf": [{"$ref": "https://example.com/schema.json"}]}`:                                                                    true,
		`{"$id": "https://example.com/a.json", "items": {"$ref": "other.json"}}`:                                                      true,
		`{"$schema": "https://example.com/meta.json"}`:                                                                                true,
	} {
		got := respond(&render.Request{Version: render.ProtocolVersion, Chart: archiveOf(t, chartFile+"-- values.schema.json --\n"+text+"\n")})
		if got.Error != nil || (len(got.Notes) == 1) != elsewhere {
			t.Errorf("%s: %v, %q", text, got.Error, got.Notes)
		}
	}
}

// A note tells what a path found that is no image, and which path found nothing.
func TestPathOfNoText(t *testing.T) {
	t.Parallel()
	got := respond(&render.Request{
		Version: render.ProtocolVersion, Chart: archiveOf(t, chartFile+"-- templates/a.yaml --\nkind: X\nmetadata: {name: x}\nspec: {image: {a: b}}\n"),
		ImagePaths: []string{"spec.image", "spec.imgae"},
	})
	if got.Error != nil || len(got.Notes) != 2 || got.Notes[1] != "imagePaths: nothing is at spec.imgae" || !strings.Contains(got.Notes[0], "spec.image of X x is not a text") {
		t.Errorf("%v, %q", got.Error, got.Notes)
	}
}

// The program says what it is for, and refuses other arguments.
func TestRun(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]int{"": 10, "-x": 10, "-h": 0, "-serve x": 10} {
		var errs bytes.Buffer
		if got := run(strings.Fields(args), strings.NewReader(""), nil, &errs); got != want || !strings.Contains(errs.String(), "renders Helm charts for gantry") {
			t.Errorf("%q: %d, %s", args, got, errs.String())
		}
	}
	if err := answer(strings.NewReader("{]"), nil, nil); err == nil {
		t.Error("a request that is no JSON is answered")
	}
}
