<?php
// Shows a page of ganglia's, as a web server would: php ganglia.php PAGE QUERY, in the folder of the pages.
[, $page, $query] = $argv;
parse_str($query, $_GET);
$_REQUEST = $_GET;
$_SERVER += ['HTTP_HOST' => 'localhost', 'REQUEST_URI' => "/$page?$query", 'REMOTE_ADDR' => '127.0.0.1'];
if ($page != 'limits') {
  include getcwd() . "/$page";
  exit;
}
// What the pages of a cluster ask for before they draw.
include './eval_conf.php';
include './functions.php';
$start = $_GET['cs'];
$end = $_GET['ce'];
$metrics = ['web1' => ['load_one' => ['TYPE' => 'float', 'SLOPE' => 'both']]];
print json_encode([
  find_limits('web', ['web1' => 1, 'web2' => 1], 'load_one', $start, $end, $metrics, $conf, $rrd_options),
  find_avg('web', 'web1', 'load_one'),
  find_avg('web', '', 'cpu_user'),
]);
