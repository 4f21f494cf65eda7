package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gantry-mirror/gantry/pkg/registrytest"
)

// Names in the demo's folder of the part about charts, signatures and files.
const (
	contentFile = "content.yaml"
	chartDir    = "netcheck"
	scriptFile  = "install.sh"
	pulledFile  = "pulled.sh"
	policyFile  = "policy.json"
	imageKey    = "cosign.pub"
)

// The image that the chart names, which has a signature.
const (
	signedRepository = "tools/netcheck"
	signedTag        = "1.4"
)

// contentFiles are the chart, the file, the policy, and the configuration that mirrors them.
var contentFiles = map[string]string{
	contentFile: `apiVersion: mirror.openshift.io/v2alpha1
kind: ImageSetConfiguration
mirror:
  helm:
    local:
    - path: netcheck            # a chart; its CronJob names images.example.net/tools/netcheck:1.4
      values: {probes: true}
  files:
  - path: install.sh
`,
	policyFile: `{
  "default": [{"type": "reject"}],
  "transports": {"docker": {"images.example.net": [
    {"type": "sigstoreSigned", "keyPath": "cosign.pub", "signedIdentity": {"type": "matchRepository"}}
  ]}}
}
`,
	scriptFile:                             "#!/bin/sh\nhelm install netcheck \"oci://$1/charts/netcheck\"\n",
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

// mirrorContent mirrors a Helm chart, the image that it names with these values, the signature of the image, and a file.
func (d *demo) mirrorContent(ctx context.Context) error {
	d.title("A Helm chart with its image, whose signature a policy requires, and a file")
	for name, text := range contentFiles {
		path := filepath.Join(d.dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
	}
	key, err := d.signImage(ctx)
	if err != nil {
		return err
	}
	for _, name := range []string{contentFile, policyFile} {
		d.show(name)
	}
	to := "docker://" + d.near.host
	d.gantry(ctx, "mirror", "-c", contentFile, "--policy", policyFile, "--workspace", nearSpace, to)
	chart, err := registrytest.NewClient(d.near.host).Pull(ctx, "charts/netcheck", "0.3.0")
	if err != nil {
		return err
	}
	d.say("%s/charts/netcheck:0.3.0  %s pulled", d.near.host, size(chart.Bytes))
	if err := d.checkSignature(ctx, key); err != nil {
		return err
	}
	d.gantry(ctx, "pull", to, scriptFile, "--to", pulledFile)
	got, err := os.ReadFile(filepath.Join(d.dir, pulledFile))
	if err == nil && !bytes.Equal(got, []byte(contentFiles[scriptFile])) {
		err = fmt.Errorf("%s has other content than %s", pulledFile, scriptFile)
	}
	return err
}
