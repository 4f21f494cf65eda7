package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Names of the chart in the demo's folder.
const (
	chartsFile = "charts.yaml"
	chartDir   = "netcheck"
)

// chartFiles are the chart, and the configuration that mirrors it.
var chartFiles = map[string]string{
	chartsFile: `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  helm:
    local:
    - path: netcheck
      values: {probes: true}
`,
	filepath.Join(chartDir, "Chart.yaml"):  "apiVersion: v2\nname: netcheck\nversion: 0.3.0\n",
	filepath.Join(chartDir, "values.yaml"): "image: {repository: images.example.net/tools/netcheck, tag: \"1.4\"}\nprobes: false\n",
	filepath.Join(chartDir, "templates", "probe.yaml"): `{{- if .Values.probes }}
apiVersion: batch/v1
kind: CronJob
metadata:
  name: {{ .Release.Name }}-probe
spec:
  schedule: "*/5 * * * *"
  jobTemplate:
    spec:
      template:
        spec:
          restartPolicy: Never
          containers:
          - name: probe
            image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
{{- end }}
`,
}

// mirrorChart mirrors a Helm chart and the image that it names with these values.
func (d *demo) mirrorChart(ctx context.Context) error {
	d.title("A Helm chart, with the image that it names when it is rendered")
	for name, text := range chartFiles {
		path := filepath.Join(d.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	if err := d.show(chartsFile); err != nil {
		return err
	}
	if err := d.gantry(ctx, "mirror", "-c", chartsFile, "--workspace", nearSpace, "docker://"+d.near.host); err != nil {
		return err
	}
	chart, err := registrytest.NewClient(d.near.host).Pull(ctx, "charts/netcheck", "0.3.0")
	if err != nil {
		return err
	}
	d.say("%s/charts/netcheck:0.3.0  %s pulled", d.near.host, size(chart.Bytes))
	return nil
}
