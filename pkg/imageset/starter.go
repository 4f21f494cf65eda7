package imageset

import "strings"

// starter is the text of Starter, with VERSION in place of the minor version.
const starter = `# What to mirror. Remove what is not needed. To check this file, and to see its images and their sizes:
#   gantry config check FILE
#   gantry plan -c FILE
kind: ImageSetConfiguration
apiVersion: mirror.openshift.io/v2alpha1
mirror:
  platform:
    # The update graph, for clusters that update themselves from the mirror.
    graph: true
    channels:
    # Names: gantry list releases --version VERSION --channels
    - name: stable-VERSION
      # Without minVersion and maxVersion, the newest release. With both, also the releases between.
      # minVersion: VERSION.1
      # maxVersion: VERSION.5
  operators:
  # Names: gantry list operators --catalogs --version VERSION
  - catalog: registry.redhat.io/redhat/redhat-operator-index:vVERSION
    packages:
    # Names: gantry list operators --catalog registry.redhat.io/redhat/redhat-operator-index:vVERSION
    - name: serverless-operator
      # Without channels, the default channel. Without minVersion, the newest version.
      channels:
      - name: stable
  additionalImages:
  - name: registry.redhat.io/ubi9/ubi:latest
`

// Starter returns a valid configuration to begin with, with comments, for a minor version of OpenShift,
// such as "4.20".
func Starter(version string) []byte {
	return []byte(strings.ReplaceAll(starter, "VERSION", version))
}
