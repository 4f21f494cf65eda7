package profiletest

import (
	"net/http"
	"regexp"
	"strings"
)

// unauthorized is a refusal with the Basic scheme.
func unauthorized(message, basic string) refusal {
	return refusal{status: http.StatusUnauthorized, code: "UNAUTHORIZED", message: message, challenge: basic}
}

func denied(message string) refusal {
	return refusal{status: http.StatusForbidden, code: "DENIED", message: message}
}

func quayCredentials() []Trait {
	const (
		v2auth = quay + "endpoints/v2/v2auth.py"
		jwt    = quay + "auth/registry_jwt_auth.py"
	)
	return []Trait{
		{"tokens, from /v2/auth, for pull and push, which is also for deleting; no passwords", jwt, func(s *rules) { s.realm, s.binds = "/v2/auth", true }},
		{"tokens with other scopes, or two in one parameter: 400 INVALID_REQUEST", v2auth, func(s *rules) {
			s.scopes = regexp.MustCompile(`^repository:[.a-zA-Z0-9_/-]+:(push|pull|\*)(,(push|pull|\*))*$`)
		}},
		{"tokens do not say that they are valid for an hour", v2auth, func(s *rules) { s.life = 0 }},
		{"a wrong password: 401 UNAUTHORIZED; a missing permission: a token without it, and then the same", quay + "endpoints/v2/errors.py", func(s *rules) {
			s.wrong = unauthorized("Specified credentials are invalid", "")
			s.access.denied = unauthorized("access to the requested resource is not authorized", "")
		}},
	}
}

func harborCredentials() []Trait {
	const auth, service = harbor + "server/middleware/v2auth/auth.go", harbor + "core/service/token/creator.go"
	return []Trait{
		{"tokens, from /service/token, or passwords; scopes to delete are of their own", harbor + "server/middleware/v2auth/access.go", func(s *rules) {
			s.realm, s.service, s.passwords = "/service/token", "harbor-registry", true
			s.scope = func(c call) string {
				if c.r.Method == http.MethodDelete {
					return "repository:" + c.path + ":delete"
				}
				return repositoryScope(c)
			}
		}},
		{"tokens permit what the user may, for 30 minutes", service, func(s *rules) { s.life = 1800 }},
		{"a wrong password: 401 without scopes, and with scopes a token that permits nothing", service, func(s *rules) {
			s.lenient, s.wrong = true, refusal{status: http.StatusUnauthorized}
		}},
		{"a token that expired, or permits too little: 401 UNAUTHORIZED, which asks for a password", auth, func(s *rules) {
			s.ended = unauthorized("unauthorized to access repository", `Basic realm="harbor"`)
			s.access.denied = s.ended
		}},
	}
}

func giteaCredentials() []Trait {
	const api = gitea + "00659c47ca6e6a1dd2b66dfc0e2c1cb521cb95be/routers/api/packages/api.go"
	return []Trait{
		{"tokens, from /v2/token with the scope *, or passwords", giteaContainer, func(s *rules) {
			s.realm, s.service, s.passwords = "/v2/token", "container_registry", true
			s.scope = func(call) string { return "*" }
		}},
		{"tokens permit what the user may, and do not say that they are valid for 24 hours", gitea + "0376f236c36c3c20618ea05d710679e6ff269285/services/packages/auth.go", func(s *rules) { s.life = 0 }},
		{"a missing permission: 401, which asks for a password", api, func(s *rules) {
			s.access.denied = unauthorized("user should have specific permission or be a site admin", `Basic realm="Gitea Package API"`)
		}},
	}
}

func nexusCredentials() []Trait {
	return []Trait{{"passwords, unless the repository is set to have tokens", "https://github.com/sonatype/nexus-public/issues/921", func(s *rules) { s.basic = `BASIC realm="Sonatype Nexus Repository Manager"` }}}
}

func nexusTokens() []Trait {
	return []Trait{{"with the Docker Bearer Token Realm: tokens, from /v2/token, or passwords", "https://github.com/sonatype/nexus-public/issues/611", func(s *rules) { s.realm, s.service, s.passwords = "/v2/token", "http://HOST/v2/token", true }}}
}

func artifactoryCredentials() []Trait {
	return []Trait{
		{"tokens, from a path with the repository key; scopes lack it", "https://github.com/earthly/earthly/issues/1017", func(s *rules) {
			s.realm, s.service = "/artifactory/api/docker/team/v2/token", "artifactory"
			s.scope = func(c call) string {
				key, _, _ := strings.Cut(c.path, "/")
				return strings.Replace(repositoryScope(c), ":"+key+"/", ":", 1)
			}
		}},
		{"passwords are accepted, too", "https://github.com/containerd/containerd/issues/2148", func(s *rules) { s.passwords = true }},
	}
}

func ecrCredentials() []Trait {
	return []Trait{
		{"passwords, for the user AWS", "https://docs.aws.amazon.com/AmazonECR/latest/userguide/registry_auth.html", func(s *rules) {
			s.access.user, s.basic = "AWS", `Basic realm="https://123456789012.dkr.ecr.us-east-1.amazonaws.com/",service="ecr.amazonaws.com"`
		}},
		{"a password expires after 12 hours: DENIED (the report has no status; here 403)", "https://github.com/aws/aws-cli/issues/6580", func(s *rules) {
			s.access.late = denied("Your authorization token has expired. Reauthenticate and try again.")
		}},
		{"a wrong password: 400", "https://github.com/aws/aws-cli/issues/4962", func(s *rules) { s.wrong = refusal{status: http.StatusBadRequest} }},
		{"a missing permission: DENIED (the report has no status; here 403)", "https://github.com/aws-actions/amazon-ecr-login/issues/232", func(s *rules) {
			s.access.denied = denied("User: arn:aws:iam::123456789012:user/robot is not authorized to perform: ecr:InitiateLayerUpload on resource: arn:aws:ecr:us-east-1:123456789012:repository/app")
		}},
	}
}

func ghcrCredentials() []Trait {
	return []Trait{
		{"tokens, from /token; with a password: 403 DENIED, which asks for nothing", "https://github.com/renovatebot/renovate/issues/11446", func(s *rules) { s.realm, s.service = "/token", "ghcr.io" }},
		{"a wrong password: 403 DENIED", "https://github.com/mccutchen/go-httpbin/issues/223", func(s *rules) { s.wrong = denied("denied") }},
		{"a missing permission: 403 DENIED", "https://github.com/Luzilla/dnsbl_exporter/issues/313", func(s *rules) { s.access.denied = denied("permission_denied: write_package") }},
	}
}
