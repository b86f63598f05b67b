<?php
// Has LibreNMS make the command of one graph: php librenms.php SITE TYPE_SUBTYPE QUERY prints it as a line for rrdtool. SITE is a
// checkout of LibreNMS. Its templates, its parameters of graphs and its class of rrdtool run; Laravel and the database are not
// there: what is asked of them comes from here.
[, $site, $type, $query] = $argv;
chdir($site);
error_reporting(0);

// A row is one of any table: what it is asked for, it has.
class Row implements ArrayAccess, IteratorAggregate, Countable, JsonSerializable {
  function __construct(public $has = []) {}
  function offsetExists($name): bool { return true; }
  function offsetGet($name): mixed {
    if (array_key_exists($name, $this->has)) return $this->has[$name];
    if (is_int($name)) return $name < 3 ? new Row : null;
    return match (true) {
      (bool)preg_match('/_id$|^id$|index$|port$|entPhysicalIndex/i', $name) => 7,
      (bool)preg_match('/limit_warn/', $name) => 60,
      (bool)preg_match('/limit_low/', $name) => 5,
      (bool)preg_match('/limit|speed|perc|size|total|max|current|used|free|oids|poller_/i', $name) => 90,
      (bool)preg_match('/ip|addr/i', $name) => '192.0.2.7',
      default => "$name: one", // a colon, which templates must mask
    };
  }
  function offsetSet($name, $value): void { $this->has[$name] = $value; }
  function offsetUnset($name): void { unset($this->has[$name]); }
  function getIterator(): Iterator { return new ArrayIterator([new Row, new Row(['hostname' => 'other', 'port_id' => 8, 'sensor_index' => 8, 'ifIndex' => 8])]); }
  function count(): int { return 2; }
  function jsonSerialize(): mixed { return $this->has; }
  function __get($name) { return $this[$name]; }
  function __isset($name) { return true; }
  function __call($name, $arguments) { return Row::asked($name, $arguments, $this); }
  static function __callStatic($name, $arguments) { return Row::asked($name, $arguments, new static); }
  function __toString() { return 'row'; }
  static function asked($name, $arguments, $self) {
    return match ($name) {
      'hasGlobalRead', 'hasAccess', 'canAccessDevice', 'exists' => true,
      'displayName', 'shortDisplayName', 'name' => 'host',
      'getAttrib', 'getPrevious', 'isUnderMaintenance' => null,
      'count' => 2,
      'toArray', 'all', 'pluck' => $self->has ?: [1 => 'one', 2 => 'two'],
      'clean' => $arguments[0],
      'guessLimits' => null,
      'classDescr', 'getShortLabel', 'getLabel', 'getFullLabel' => 'one: of two',
      'unit' => 'u',
      'rrdName', 'rrd_name' => 'one',
      'value', 'sum', 'avg', 'min', 'max' => 5,
      default => $self,
    };
  }
}

$host = new Row(['device_id' => 1, 'hostname' => 'host', 'sysName' => 'host', 'os' => 'linux', 'type' => 'server', 'ip' => '192.0.2.1', 'version' => '1']);
class Config {
  static $all;
  static function get($name, $default = null) {
    self::$all ??= ['rrd_dir' => 'rrd', 'install_dir' => getcwd(), 'rrdtool_version' => '1.7.2', 'rrdcached' => false, 'temp_dir' => '/tmp', 'rrd.step' => 300] + array_map(fn($d) => $d['default'] ?? null, json_decode(file_get_contents('resources/definitions/config_definitions.json'), true)['config']);
    if (array_key_exists($name, self::$all)) return self::$all[$name] ?? $default;
    $below = [];
    foreach (self::$all as $key => $value) if (str_starts_with($key, "$name.")) $below[substr($key, strlen($name) + 1)] = $value;
    if ($below) return $below;
    $dot = strrpos($name, '.'); // graph_colours.mixed.0
    return $dot ? self::get(substr($name, 0, $dot))[substr($name, $dot + 1)] ?? $default : $default;
  }
  static function has($name) { return self::get($name) !== null; }
  static function set($name, $value) { self::get($name); self::$all[$name] = $value; }
  static function getOsSetting($os, $name, $default = null) { return $default; }
  static function getCombined($os, $name, $default = []) { return $default; }
}
class_alias('Config', 'App\Facades\LibrenmsConfig');
class_alias('Config', 'LibrenmsConfig');
class Str {
  static function finish($text, $end) { return rtrim($text, $end) . $end; }
  static function title($text) { return mb_convert_case($text, MB_CASE_TITLE, 'UTF-8'); }
  static function limit($text, $most = 100, $end = '...') { return mb_strlen($text) > $most ? mb_substr($text, 0, $most) . $end : $text; }
  static function __callStatic($name, $arguments) { return function_exists("str_$name") ? "str_$name"(...$arguments) : $arguments[0]; }
}
class_alias('Str', 'Illuminate\Support\Str');
class Arr {
  static function get($array, $name, $default = null) { return $array[$name] ?? $default; }
}
class_alias('Arr', 'Illuminate\Support\Arr');
class DeviceCache {
  static function get($id) { return $GLOBALS['host']; }
  static function getPrimary() { return $GLOBALS['host']; }
  static function getByHostname($name) { return $GLOBALS['host']; }
  static function setPrimary($id) {}
}
class_alias('DeviceCache', 'App\Facades\DeviceCache');
foreach (['Auth', 'Log', 'Permissions', 'PortCache', 'Gate', 'Cache', 'DB', 'LibreNMS\Component', 'Mews\Purifier\Facades\Purifier', 'Carbon\Carbon', 'Illuminate\Support\Facades\Log', 'Illuminate\Support\Facades\Auth', 'Illuminate\Support\Facades\DB', 'Illuminate\Support\Facades\Gate', 'App\Facades\PortCache', 'App\Facades\Permissions'] as $class) class_alias('Row', $class);

// The classes of the checkout; a model is a row.
spl_autoload_register(function ($class) {
  $file = str_replace('\\', '/', preg_replace('/^App\\\\/', 'app\\', $class)) . '.php';
  if (str_starts_with($class, 'App\Models\\')) class_alias('Row', $class);
  elseif (preg_match('/^(LibreNMS|App)\\\\/', $class) && is_file($file)) include $file;
  elseif (is_file("app/Models/$class.php")) class_alias('Row', $class);
});

foreach (['__', 'trans'] as $name) eval("function $name(\$text, ...\$more) { return \$text; }");
function session($name = null, $default = null) { return $default; }
function config($name, $default = null) { return $default; }
function url($path) { return $path; }
function collect($of = []) { return new Row; }
function now() { return new Row; }
function e($text) { return htmlspecialchars($text); }
function dbFetchRow($sql, $parameters = []) { return new Row(['hostname' => 'host', 'device_id' => 1]); }
function dbFetchRows($sql, $parameters = []) { return iterator_to_array(new Row); }
function dbFetchCell($sql, $parameters = []) { return 7; }
function dbFetchColumn($sql, $parameters = []) { return [7, 8]; }
foreach (['common', 'functions', 'rewrites', 'html/functions.inc', 'helpers'] as $file) include_once "includes/$file.php";

class Drawing extends LibreNMS\Data\Store\Rrd {
  function __construct() { $this->loadConfig(); }
  function init($dual_process = true): bool { return false; }
  function checkRrdExists($filename): bool { return true; }
  function proxmoxName($cluster, $vm, $port): string { return $this->name('proxmox', [$cluster, $vm, $port]); }
  function getRrdFiles($device) { return ['rrd/host/one.rrd', 'rrd/host/two.rrd']; }
  function getRrdApplicationArrays($device, $app_id, $app_name, $category = null): array { return ['one', 'two', 'three']; }
  function graph(string $options, ?array $env = null): string {
    ob_end_clean();
    print strtr($this->buildCommand('graphv', '-', $options), "\n", ' ') . "\n";
    exit;
  }
}
class Rrd {
  static $drawing;
  static function __callStatic($name, $arguments) { return (self::$drawing ??= new Drawing)->$name(...$arguments); }
}
class_alias('Rrd', 'App\Facades\Rrd');

parse_str($query, $vars);
$vars += ['type' => $type, 'device' => 1, 'id' => 7];
$auth = true;
mt_srand(1); // some choose colours at random
ob_start();
try {
  include 'includes/html/graphs/graph.inc.php';
  $why = trim(strip_tags(ob_get_clean()));
} catch (Throwable $e) {
  ob_end_clean();
  $why = get_class($e) . ': ' . $e->getMessage() . ' at ' . basename($e->getFile()) . ':' . $e->getLine();
}
print "# $why\n";
