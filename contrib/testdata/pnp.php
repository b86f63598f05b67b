<?php
// Draws what a template of PNP4Nagios asks for, as the page does: php pnp.php TEMPLATE END, in the folder of the pages.
[, $template, $end] = $argv;
print "$template\n"; // those for checks with other values draw nothing
mt_srand(1); // some choose colours at random
foreach (['rrd', 'pnp'] as $helper) {
  eval(preg_replace('/^.*?(?=class )/s', '', file_get_contents("application/helpers/$helper.php")));
}
class Kohana_exception extends Exception {}

class Page {
  public $DS = [], $MACRO = ['DISP_HOSTNAME' => 'host', 'DISP_SERVICEDESC' => 'service', 'CHECK_COMMAND' => 'check', 'MULTI_PARENT' => '', 'HOSTNAME' => 'host', 'SERVICEDESC' => 'service', 'TIMET' => '0'], $STRUCT = [];

  function __construct() {
    foreach (range(0, 11) as $i) {
      $this->DS[$i] = ['TEMPLATE' => 'x', 'RRDFILE' => 'service.rrd', 'RRD_STORAGE_TYPE' => 'SINGLE', 'RRD_HEARTBEAT' => '8460', 'IS_MULTI' => '0', 'DS' => $i + 1, 'NAME' => "name_$i", 'LABEL' => "label $i", 'UNIT' => ['', 's', '%%', 'B', 'c'][$i % 5],
        'ACT' => 40 + $i, 'WARN' => 80 + $i, 'WARN_MIN' => '', 'WARN_MAX' => '', 'WARN_RANGE_TYPE' => '', 'CRIT' => 90 + $i, 'CRIT_MIN' => '', 'CRIT_MAX' => '', 'CRIT_RANGE_TYPE' => '', 'MIN' => $i % 2 ? '0' : '', 'MAX' => $i % 3 ? '' : '200'];
    }
  }

  function show($file, $end) {
    $def = $opt = $ds_name = [];
    $hostname = 'host';
    $servicedesc = 'service';
    $rrdfile = 'service.rrd';
    foreach ($this->DS as $i => $of) {
      foreach ($of as $name => $value) ${$name}[$i + 1] = $value;
    }
    $TIMERANGE = ['start' => $end - 30000, 'end' => $end];
    ob_start();
    include $file;
    ob_end_clean();
    foreach ($def as $i => $lines) {
      print "$i {$ds_name[$i]}\n";
      $command = "./recorded_rrdtool.sh graph o$i.png --width=500 --height=100 --start={$TIMERANGE['start']} --end={$TIMERANGE['end']} {$opt[$i]} $lines";
      print shell_exec("$command 2>&1");
    }
  }
}
try {
  (new Page)->show($template, $end);
} catch (Throwable $e) {
  print get_class($e) . ': ' . $e->getMessage();
}
