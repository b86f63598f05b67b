package webconfig

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/rondo-db/rondo/internal/conffile"
)

// maxFile bounds each file that is read, in bytes.
const maxFile = 1 << 20

// A document is the file as it is written.
type document struct {
	TLS       *tlsSection       `yaml:"tls_server_config"`
	HTTP      *httpSection      `yaml:"http_server_config"`
	Users     map[string]string `yaml:"basic_auth_users"` // bcrypt hashes by name
	RateLimit *rateSection      `yaml:"rate_limit"`
	Rondo     *rondoSection     `yaml:"rondo"`

	// who says that the file has a section of passwords or tokens, even if nobody is in it.
	who bool
}

// empty reports whether the file says nothing.
func (d *document) empty() bool {
	return !d.who && d.TLS == nil && d.HTTP == nil && d.RateLimit == nil && (d.Rondo == nil || d.Rondo.Listeners == nil)
}

type tlsSection struct {
	Cert         string   `yaml:"cert"`
	Key          string   `yaml:"key"`
	ClientCA     string   `yaml:"client_ca"`
	CertFile     string   `yaml:"cert_file"`
	KeyFile      string   `yaml:"key_file"`
	ClientAuth   string   `yaml:"client_auth_type"`
	ClientCAFile string   `yaml:"client_ca_file"`
	ClientSANs   []string `yaml:"client_allowed_sans"`
	MinVersion   string   `yaml:"min_version"`
	MaxVersion   string   `yaml:"max_version"`
	CipherSuites []string `yaml:"cipher_suites"`
	Curves       []string `yaml:"curve_preferences"`
	// PreferServer is accepted as in other programs' files and changes nothing: Go chooses the
	// order of cipher suites by itself.
	PreferServer *bool `yaml:"prefer_server_cipher_suites"`
}

type httpSection struct {
	HTTP2   *bool             `yaml:"http2"`
	Headers map[string]string `yaml:"headers"`
}

type rateSection struct {
	Interval time.Duration `yaml:"interval"`
	Burst    int           `yaml:"burst"`
}

type rondoSection struct {
	Anonymous    string                     `yaml:"anonymous"`
	Users        map[string]grant           `yaml:"users"`
	Tokens       []tokenSection             `yaml:"tokens"`
	Certificates []certificateSection       `yaml:"client_certificates"`
	Listeners    map[string]listenerSection `yaml:"listeners"`
}

// A grant is what somebody may do.
type grant struct {
	Role     string   `yaml:"role"`
	Prefixes []string `yaml:"prefixes"`
}

type tokenSection struct {
	Name    string `yaml:"name"`
	SHA256  string `yaml:"sha256"`
	Expires string `yaml:"expires"`
	grant   `yaml:",inline"`
}

type certificateSection struct {
	CN   string `yaml:"cn"`
	SAN  string `yaml:"san"`
	User string `yaml:"user"`
}

type listenerSection struct {
	grant `yaml:",inline"`
	TLS   bool   `yaml:"tls"`
	Auth  string `yaml:"auth"`
}

// parse reads a file. Errors name the line.
func parse(file string, data []byte) (*document, error) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	doc := new(document)
	if err := d.Decode(doc); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: %w", file, readable(err))
	}
	if err := d.Decode(new(document)); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%s: a second document begins behind ---: one is possible", file)
	}
	doc.who = namesWho(data)
	return doc, nil
}

// namesWho reports whether a valid file has a key of passwords or tokens. A key without a value is
// nothing to the decoder of a [document], but its value may have been cut off.
func namesWho(data []byte) bool {
	var keys struct {
		Users yaml.Node `yaml:"basic_auth_users"`
		Rondo struct {
			Users        yaml.Node `yaml:"users"`
			Tokens       yaml.Node `yaml:"tokens"`
			Certificates yaml.Node `yaml:"client_certificates"`
		} `yaml:"rondo"`
	}
	_ = yaml.Unmarshal(data, &keys) // it was decoded before
	return !keys.Users.IsZero() || !keys.Rondo.Users.IsZero() || !keys.Rondo.Tokens.IsZero() || !keys.Rondo.Certificates.IsZero()
}

// What an error of the YAML package says of an unknown key, and of the text of a wrong value, which
// may be a secret.
var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wrongValue = regexp.MustCompile("cannot unmarshal (\\S+)( `[^`]*`)? into \\S+")
)

// readable returns an error of the YAML package in words for an operator, without the values that
// the file holds.
func readable(err error) error {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	text = strings.TrimPrefix(text, "unmarshal errors:\n")
	text = unknownKey.ReplaceAllString(text, "the key $1 is unknown here")
	text = wrongValue.ReplaceAllString(text, "a value of another type is needed here, not $1")
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return errors.New(strings.Join(lines, "; "))
}

// A stamp is how a file looked when it was read. Another stamp means that it has changed.
type stamp struct {
	name string
	info os.FileInfo // nil: it could not be read
}

func stampOf(name string) stamp {
	info, err := os.Stat(name)
	if err != nil {
		return stamp{name, nil}
	}
	return stamp{name, info}
}

// changed reports whether the file looks different now.
func (s stamp) changed() bool {
	now := stampOf(s.name)
	if s.info == nil || now.info == nil {
		return (s.info == nil) != (now.info == nil)
	}
	return !os.SameFile(s.info, now.info) || s.info.Size() != now.info.Size() || !s.info.ModTime().Equal(now.info.ModTime())
}

// A reader reads a file and those that it names, and notes how they looked.
type reader struct {
	file   string
	stamps []stamp
}

// read returns the bytes of a file. A relative name is below the folder of the configuration.
func (r *reader) read(name string) ([]byte, error) {
	if r.file != "" && name != r.file && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(r.file), name)
	}
	r.stamps = append(r.stamps, stampOf(name)) // before it is read: a later change is noticed
	return conffile.Read(name, maxFile)
}
